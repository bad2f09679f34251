// The host device behind a real scheduler: who computes a batch, that the bytes are right, and how it ends.
#include "server/exec/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <deque>
#include <thread>

#include "server/exec/testing/blocking_request.h"

namespace kernelwire {
namespace {

using ::kernelwire::testing::BlockingRequest;
using ::kernelwire::testing::Stage;

std::string NameOfThisThread() {
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

/// y = x + 1 over INT32, a row an element. A batch that holds kBroken is an INTERNAL error.
constexpr std::int32_t kBroken = -77;

absl::StatusOr<Plan> PlanAddOne(const PlanRequest& request) {
  Plan plan;
  plan.rows = request.inputs[0]->shape[0];
  plan.outputs[0] = {true, *request.inputs[0], *request.inputs[0]->ByteSize()};
  plan.work_bytes = static_cast<std::int64_t>(2 * plan.outputs[0].bytes);
  return plan;
}

std::string& ThreadOfLastRun() {
  static std::string name;  // read by tests that have one request at a time, after it has completed
  return name;
}

absl::Status RunAddOne(const Launch& launch, ParallelExecutor& threads) {
  bool broken = false;
  for (int s = 0; s < launch.segment_count; ++s) {
    const Segment& segment = launch.segments[s];
    const auto* x = static_cast<const std::int32_t*>(segment.inputs[0]);
    auto* y = static_cast<std::int32_t*>(segment.outputs[0]);
    broken = broken || x[0] == kBroken;
    threads.ParallelFor(segment.rows, 512, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        y[i] = x[i] + 1;
      }
    });
  }
  return broken ? absl::InternalError("add_one: broken") : absl::OkStatus();
}

absl::Status RunAddOneAndNoteTheThread(const Launch& launch, ParallelExecutor& threads) {
  ThreadOfLastRun() = NameOfThisThread();
  return RunAddOne(launch, threads);
}

Operator MakeAddOne() {
  Operator op;
  op.spec.name = "add_one";
  op.spec.inputs = {{"x", DataTypeSet(DataType::kInt32), DataType::kInt32, {-1}, false, "Numbers."}};
  op.spec.outputs = {{"y", DataTypeSet(DataType::kInt32), DataType::kInt32, {-1}, false, "x + 1."}};
  op.plan = &PlanAddOne;
  op.run_host = &RunAddOne;
  return op;
}

KnownAnswer::Tensor Numbers(std::int32_t first, std::int64_t count) {
  KnownAnswer::Tensor tensor{{DataType::kInt32, Shape{count}}, {}};
  tensor.bytes.resize(static_cast<std::size_t>(count) * sizeof(std::int32_t));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::int32_t>(first + i);
    std::memcpy(tensor.bytes.data() + static_cast<std::size_t>(i) * sizeof(value), &value, sizeof(value));
  }
  return tensor;
}

HostDeviceOptions SmallDevice() {
  HostDeviceOptions options;
  options.lanes = 2;
  options.staging_bytes = std::size_t{8} << 20;
  options.inline_bytes = 8192;  // 1024 numbers in and out
  return options;
}

TEST(HostDeviceTest, DescribesItself) {
  const std::unique_ptr<Device> device = MakeHostDevice({});
  EXPECT_EQ(device->name(), "host");
  EXPECT_GE(device->lane_count(), 2);
  EXPECT_EQ(device->slabs().total_bytes(), std::size_t{256} << 20);
  EXPECT_EQ(MakeHostDevice(SmallDevice())->lane_count(), 2);
}

TEST(HostDeviceTest, NullWithoutMemory) {
  HostDeviceOptions options;
  options.staging_bytes = std::size_t{1} << 62;
  EXPECT_EQ(MakeHostDevice(options), nullptr);
}

TEST(HostDeviceTest, SmallBatchesRunInTheCallingThreadAndLargeOnesInAWorker) {
  Operator op = MakeAddOne();
  op.run_host = &RunAddOneAndNoteTheThread;
  Stage stage(MakeHostDevice(SmallDevice()));
  for (const std::int64_t count : {1, 1024, 1025, 200000}) {
    BlockingRequest request(op, {Numbers(5, count)});
    const auto outputs = request.Call(stage.scheduler());
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ((*outputs)[0].bytes, Numbers(6, count).bytes);
    EXPECT_GT(request.times().kernel, 0);
    EXPECT_EQ(request.times().copy_in + request.times().copy_out, 0) << "nothing is copied on the host";
    if (count <= 1024) {
      EXPECT_EQ(ThreadOfLastRun(), NameOfThisThread());
    } else {
      EXPECT_THAT(ThreadOfLastRun(), ::testing::StartsWith("kw-host-"));
    }
  }
}

TEST(HostDeviceTest, AnErrorOfTheOperatorReachesTheRequest) {
  const Operator op = MakeAddOne();
  Stage stage(MakeHostDevice(SmallDevice()));
  for (const std::int64_t count : {1, 50000}) {
    BlockingRequest request(op, {Numbers(kBroken, count)});
    EXPECT_EQ(request.Call(stage.scheduler()).status(), absl::InternalError("add_one: broken"));
  }
}

TEST(HostDeviceTest, ManyCallersGetTheirOwnNumbers) {
  constexpr int kCallers = 6;
  constexpr int kEach = 150;
  const Operator op = MakeAddOne();
  HostDeviceOptions options = SmallDevice();
  options.staging_bytes = std::size_t{1} << 20;  // little enough that callers have to wait for slabs
  Stage stage(MakeHostDevice(options));
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < kEach; ++i) {
        const std::int32_t first = c * 1000000 + i * 1000;
        const std::int64_t count = 1 + (c * 7919 + i * 104729) % (i % 10 == 0 ? 60000 : 1500);
        BlockingRequest request(op, {Numbers(first, count)});
        const auto outputs = request.Call(stage.scheduler());
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        ASSERT_EQ((*outputs)[0].bytes, Numbers(first + 1, count).bytes);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
}

TEST(HostDeviceTest, ItsDestructorFinishesWhatItHasBeenGiven) {
  const Operator op = MakeAddOne();
  for (int round = 0; round < 20; ++round) {
    Stage stage(MakeHostDevice(SmallDevice()));
    std::deque<BlockingRequest> requests;  // two lanes: two at most are running, the rest waits for a lane
    for (int i = 0; i < 2; ++i) {
      requests.emplace_back(op, std::vector<KnownAnswer::Tensor>{Numbers(i, 100000)});
      ASSERT_TRUE(stage.scheduler().Submit(&requests.back()).ok());
    }
    stage.DestroyDevice();
    for (BlockingRequest& request : requests) {
      EXPECT_TRUE(request.Wait(stage.scheduler()).ok());
    }
  }
}

}  // namespace
}  // namespace kernelwire
