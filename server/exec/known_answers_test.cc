// Every operator's known answer through a real scheduler, on the host and on every GPU there is, by every data path:
// what the server asks of itself before it calls itself ready.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <thread>

#include "kernels/registry.h"
#include "server/exec/cuda_device.h"
#include "server/exec/host_device.h"
#include "server/exec/testing/blocking_request.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::BlockingRequest;
using ::kernelwire::testing::Stage;

std::vector<std::unique_ptr<Device>> AllDevices() {
  std::vector<std::unique_ptr<Device>> devices;
  for (const std::int64_t inline_bytes : {std::int64_t{-1}, std::int64_t{1} << 40}) {
    HostDeviceOptions options;
    options.inline_bytes = inline_bytes;
    devices.push_back(MakeHostDevice(options));
  }
  const absl::StatusOr<std::vector<DeviceInfo>> gpus = ListCudaDevices();
  for (const DeviceInfo& gpu : gpus.ok() ? *gpus : std::vector<DeviceInfo>{}) {
    for (const std::int64_t in_place_bytes : {std::int64_t{-1}, std::int64_t{1} << 40}) {
      CudaDeviceOptions options;
      options.index = gpu.index;
      options.path.in_place_bytes = options.path.in_place_reread_bytes = in_place_bytes;
      devices.push_back(MakeCudaDevice(options).value());
    }
  }
  return devices;
}

void ExpectClose(const KnownAnswer::Tensor& expected, const KnownAnswer::Tensor& got, double tolerance) {
  ASSERT_EQ(got.desc.dtype, expected.desc.dtype);
  ASSERT_EQ(got.desc.shape, expected.desc.shape);
  ASSERT_EQ(got.bytes.size(), expected.bytes.size());
  if (expected.desc.dtype != DataType::kFp32) {
    EXPECT_EQ(got.bytes, expected.bytes);
    return;
  }
  for (std::size_t i = 0; i + sizeof(float) <= got.bytes.size(); i += sizeof(float)) {
    float want = 0.0F;
    float have = 0.0F;
    std::memcpy(&want, expected.bytes.data() + i, sizeof(float));
    std::memcpy(&have, got.bytes.data() + i, sizeof(float));
    EXPECT_LE(std::abs(want - have), tolerance) << "element " << i / sizeof(float);
  }
}

void CheckKnownAnswer(const Operator& op, Scheduler& scheduler) {
  const KnownAnswer answer = op.known_answer();
  std::uint32_t wanted = 0;
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    wanted |= answer.outputs[i].desc.dtype != DataType::kInvalid ? 1U << i : 0U;
  }
  BlockingRequest request(op, answer.inputs, answer.attributes, wanted);
  const auto outputs = request.Call(scheduler);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    if (answer.outputs[i].desc.dtype != DataType::kInvalid) {
      ExpectClose(answer.outputs[i], (*outputs)[i], answer.absolute_tolerance);
    }
  }
}

TEST(KnownAnswersTest, HoldOnEveryDevice) {
  for (std::unique_ptr<Device>& device : AllDevices()) {
    Stage stage(std::move(device));
    for (const Operator& op : AllOperators()) {
      SCOPED_TRACE(stage.device().name() + " " + op.spec.name);
      CheckKnownAnswer(op, stage.scheduler());
    }
  }
}

TEST(KnownAnswersTest, HoldForManyCallersAtOnce) {
  for (std::unique_ptr<Device>& device : AllDevices()) {
    Stage stage(std::move(device));
    SCOPED_TRACE(stage.device().name());
    std::vector<std::thread> callers;
    for (int c = 0; c < 6; ++c) {
      callers.emplace_back([&stage] {
        for (int round = 0; round < 50; ++round) {
          for (const Operator& op : AllOperators()) {
            CheckKnownAnswer(op, stage.scheduler());
          }
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
  }
}

}  // namespace
}  // namespace kernelwire
