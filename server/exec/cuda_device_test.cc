// CUDA devices behind a real scheduler, on every GPU there is: both data paths, and how failures and hangs end. The
// operators are made of CUDA's own copies and host functions, so that each failure happens exactly when it is wanted.
#include "server/exec/cuda_device.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "kernels/device/launch_tickets.h"
#include "server/exec/testing/blocking_request.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::BlockingRequest;
using ::kernelwire::testing::Stage;
using ::testing::HasSubstr;

absl::StatusOr<Plan> PlanCopy(const PlanRequest& request) {
  Plan plan;
  plan.rows = 1;
  plan.outputs[0] = {true, *request.inputs[0], *request.inputs[0]->ByteSize()};
  plan.extents[0] = static_cast<std::int64_t>(plan.outputs[0].bytes);
  plan.work_bytes = 2 * plan.extents[0];
  return plan;
}

/// y = x, wherever the segments say that they lie. Looks at the last error as CUB does: it may only find its own.
int LaunchCopy(const Launch& launch, CUstream_st* stream) {
  if (cudaPeekAtLastError() != cudaSuccess) {
    return cudaErrorUnknown;
  }
  for (int s = 0; s < launch.segment_count; ++s) {
    const Segment& segment = launch.segments[s];
    const cudaError_t error = cudaMemcpyAsync(segment.outputs[0], segment.inputs[0],
                                              static_cast<std::size_t>(segment.extents[0]), cudaMemcpyDefault, stream);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

int RefuseToLaunch(const Launch&, CUstream_st*) { return cudaErrorLaunchOutOfResources; }
int BreakTheDevice(const Launch&, CUstream_st*) { return cudaErrorIllegalAddress; }

/// Holds a stream until it is opened.
class Gate {
 public:
  static Gate& Instance() {
    static Gate* const gate = new Gate;  // stays: CUDA's thread may be on its way out of Wait when the process ends
    return *gate;
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  static void Wait(void* gate) {
    auto* const self = static_cast<Gate*>(gate);
    std::unique_lock<std::mutex> lock(self->mutex_);
    self->opened_.wait(lock, [self] { return self->open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

int LaunchHang(const Launch&, CUstream_st* stream) {
  return cudaLaunchHostFunc(stream, &Gate::Wait, &Gate::Instance());
}

/// The tickets that came with each stream.
struct TicketsSeen {
  static TicketsSeen& Instance() {
    static auto* const seen = new TicketsSeen;
    return *seen;
  }
  /// Holds a stream until kStreams have had a launch.
  static void AwaitAll(void* seen) {
    auto* const self = static_cast<TicketsSeen*>(seen);
    std::unique_lock<std::mutex> lock(self->mutex);
    self->changed.wait(lock, [self] { return self->of_streams.size() == kStreams; });
  }

  static constexpr std::size_t kStreams = 3;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<CUstream_st*, std::uint32_t*> of_streams;
};

/// y = the tickets of the launch.
int LaunchCopyTickets(const Launch& launch, CUstream_st* stream) {
  TicketsSeen& seen = TicketsSeen::Instance();
  {
    const std::lock_guard<std::mutex> lock(seen.mutex);
    seen.of_streams[stream] = launch.tickets;
  }
  seen.changed.notify_all();
  const Segment& segment = launch.segments[0];
  const cudaError_t error = cudaMemcpyAsync(segment.outputs[0], launch.tickets,
                                            static_cast<std::size_t>(segment.extents[0]), cudaMemcpyDefault, stream);
  return error == cudaSuccess ? cudaLaunchHostFunc(stream, &TicketsSeen::AwaitAll, &seen) : error;
}

Operator MakeOperator(int (*launch)(const Launch&, CUstream_st*)) {
  Operator op;
  op.spec.name = "copy";
  op.spec.inputs = {{"x", DataTypeSet(DataType::kUint8), DataType::kUint8, {-1}, false, "Bytes."}};
  op.spec.outputs = {{"y", DataTypeSet(DataType::kUint8), DataType::kUint8, {-1}, false, "The same bytes."}};
  op.plan = &PlanCopy;
  op.launch_cuda = launch;
  return op;
}

KnownAnswer::Tensor Bytes(std::size_t count, unsigned seed) {
  KnownAnswer::Tensor tensor{{DataType::kUint8, Shape{static_cast<std::int64_t>(count)}}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    tensor.bytes.push_back(static_cast<std::byte>(seed + i * 7));
  }
  return tensor;
}

CudaDeviceOptions OptionsFor(const DeviceInfo& gpu) {
  CudaDeviceOptions options;
  options.index = gpu.index;
  options.lanes = 3;
  options.staging_bytes = std::size_t{16} << 20;
  return options;
}

/// Those that there are: none on a machine without a GPU, where ListCudaDevicesTest says what is to be said.
std::vector<DeviceInfo> Gpus() {
  const absl::StatusOr<std::vector<DeviceInfo>> gpus = ListCudaDevices();
  return gpus.ok() ? *gpus : std::vector<DeviceInfo>{};
}

TEST(CudaDeviceTest, RefusesWhatCannotBe) {
  for (const DeviceInfo& gpu : Gpus()) {
    CudaDeviceOptions options = OptionsFor(gpu);
    options.lanes = 0;
    EXPECT_EQ(MakeCudaDevice(options).status(), absl::InvalidArgumentError("lanes: expected 1 or more, got 0"));
    options = OptionsFor(gpu);
    options.index = 1000;
    EXPECT_EQ(MakeCudaDevice(options).status().code(), absl::StatusCode::kInvalidArgument);
    options = OptionsFor(gpu);
    options.staging_bytes = std::size_t{1} << 60;
    const absl::Status none = MakeCudaDevice(options).status();
    EXPECT_EQ(none.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(none.message()), HasSubstr("--staging_bytes"));
  }
}

TEST(CudaDeviceTest, BytesComeBackByBothPaths) {
  const Operator op = MakeOperator(&LaunchCopy);
  for (const DeviceInfo& gpu : Gpus()) {
    for (const std::int64_t in_place_bytes : {std::int64_t{-1}, std::int64_t{1} << 40}) {
      CudaDeviceOptions options = OptionsFor(gpu);
      options.path.in_place_bytes = in_place_bytes;
      Stage stage(MakeCudaDevice(options).value());
      EXPECT_EQ(stage.device().name(), "cuda:" + std::to_string(gpu.index));
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{70000}, std::size_t{5} << 20}) {
        BlockingRequest request(op, {Bytes(count, 3)});
        const auto outputs = request.Call(stage.scheduler());
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        EXPECT_EQ((*outputs)[0].bytes, Bytes(count, 3).bytes);
        EXPECT_EQ(request.times().copy_in > 0, in_place_bytes < 0) << "the other path was taken";
        if (count > 0) {  // the events around no copy may lie a tick apart
          EXPECT_EQ(request.times().copy_out > 0, in_place_bytes < 0);
        }
      }
    }
  }
}

TEST(CudaDeviceTest, ManyCallersGetTheirOwnBytes) {
  const Operator op = MakeOperator(&LaunchCopy);
  for (const DeviceInfo& gpu : Gpus()) {
    CudaDeviceOptions options = OptionsFor(gpu);
    options.path.in_place_bytes = 20000;  // both paths at once
    options.path.spin = 10'000;           // and the watcher often goes to sleep
    Stage stage(MakeCudaDevice(options).value());
    std::vector<std::thread> callers;
    for (unsigned c = 0; c < 8; ++c) {
      callers.emplace_back([&, c] {
        for (unsigned i = 0; i < 200; ++i) {
          const std::size_t count = 1 + (c * 7919 + i * 104729) % 30000;
          BlockingRequest request(op, {Bytes(count, c * 37 + i)});
          const auto outputs = request.Call(stage.scheduler());
          ASSERT_TRUE(outputs.ok()) << outputs.status();
          ASSERT_EQ((*outputs)[0].bytes, Bytes(count, c * 37 + i).bytes);
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
  }
}

TEST(CudaDeviceTest, LanesHaveTicketsOfTheirOwnAllZero) {
  const Operator op = MakeOperator(&LaunchCopyTickets);
  for (const DeviceInfo& gpu : Gpus()) {
    auto& of_streams = TicketsSeen::Instance().of_streams;
    of_streams.clear();
    Stage stage(MakeCudaDevice(OptionsFor(gpu)).value());
    ASSERT_EQ(stage.device().lane_count(), static_cast<int>(TicketsSeen::kStreams));
    std::vector<std::unique_ptr<BlockingRequest>> requests;
    for (std::size_t i = 0; i < TicketsSeen::kStreams; ++i) {
      requests.push_back(std::make_unique<BlockingRequest>(op, std::vector{Bytes(LaunchTickets::kBytes, 1)}));
      ASSERT_TRUE(stage.scheduler().Submit(requests.back().get()).ok());
    }
    for (const auto& request : requests) {
      const auto outputs = request->Wait(stage.scheduler());
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ((*outputs)[0].bytes, std::vector<std::byte>(LaunchTickets::kBytes));
    }
    std::set<std::uint32_t*> tickets;
    for (const auto& [stream, of_stream] : of_streams) {
      tickets.insert(of_stream);
    }
    EXPECT_EQ(tickets.size(), TicketsSeen::kStreams);
  }
}

TEST(CudaDeviceTest, ALaunchThatFailsEndsItsBatchAndNothingElse) {
  const Operator good = MakeOperator(&LaunchCopy);
  const Operator bad = MakeOperator(&RefuseToLaunch);
  for (const DeviceInfo& gpu : Gpus()) {
    CudaDeviceOptions options = OptionsFor(gpu);
    options.on_fatal = [](const absl::Status& status, bool) { ADD_FAILURE() << status; };
    Stage stage(MakeCudaDevice(options).value());
    for (int round = 0; round < 10; ++round) {
      BlockingRequest refused(bad, {Bytes(100, 1)});
      const absl::Status status = refused.Call(stage.scheduler()).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(status.message()), HasSubstr("cudaErrorLaunchOutOfResources"));
      BlockingRequest served(good, {Bytes(100, 1)});
      EXPECT_TRUE(served.Call(stage.scheduler()).ok());
    }
  }
}

TEST(CudaDeviceTest, AStickyErrorIsToldOnceAndEndsEveryBatch) {
  const Operator good = MakeOperator(&LaunchCopy);
  const Operator bad = MakeOperator(&BreakTheDevice);
  for (const DeviceInfo& gpu : Gpus()) {
    std::atomic<int> told{0};
    CudaDeviceOptions options = OptionsFor(gpu);
    options.on_fatal = [&told](const absl::Status&, bool) { told.fetch_add(1); };
    Stage stage(MakeCudaDevice(options).value());
    for (const Operator* op : {&bad, &bad, &good}) {
      BlockingRequest request(*op, {Bytes(100, 1)});
      const absl::Status status = request.Call(stage.scheduler()).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(status.message()), HasSubstr("cudaErrorIllegalAddress"));
    }
    EXPECT_EQ(told, 1);
  }
}

TEST(CudaDeviceTest, AHangEndsItsBatchAndTheDeviceCanGo) {
  const Operator hanging = MakeOperator(&LaunchHang);
  for (const DeviceInfo& gpu : Gpus()) {
    std::atomic<int> told{0};
    CudaDeviceOptions options = OptionsFor(gpu);
    options.hang_after = 0;  // the least: 1 s
    options.on_fatal = [&told](const absl::Status&, bool hung) {
      EXPECT_TRUE(hung);
      told.fetch_add(1);
    };
    Stage stage(MakeCudaDevice(options).value());
    BlockingRequest request(hanging, {Bytes(100, 1)});
    const absl::Status status = request.Call(stage.scheduler()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("a batch of 'copy' hangs: 1 requests, 1 rows"));
    EXPECT_EQ(told, 1);
    stage.DestroyDevice();  // returns though the stream is still held
  }
  Gate::Instance().Open();
}

}  // namespace
}  // namespace kernelwire
