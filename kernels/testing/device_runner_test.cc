// The runner must catch operators that misbehave: each of these is wrong in one way.
#include "kernels/testing/device_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/thread_executor.h"

namespace kernelwire::testing {
namespace {

using ::testing::HasSubstr;

/// y = x + addend, row by row; extents[0] is the width, which may differ inside a batch.
absl::StatusOr<Plan> PlanAdd(const PlanRequest& request) {
  Plan plan;
  const TensorDesc& x = *request.inputs[0];
  const std::int64_t addend = request.attributes->GetInt("addend").value_or(1);
  plan.key.Append(static_cast<std::uint64_t>(addend));
  plan.SetParams(addend);
  plan.rows = x.shape[0];
  plan.extents[0] = x.shape[1];
  plan.outputs[0] = {true, x, x.ByteSize().value()};
  plan.workspace_bytes = 256;
  return plan;
}

const std::int32_t* InputOf(const Segment& segment) { return static_cast<const std::int32_t*>(segment.inputs[0]); }
std::int32_t* OutputOf(const Segment& segment) { return static_cast<std::int32_t*>(segment.outputs[0]); }
std::int64_t CountOf(const Segment& segment) { return segment.rows * segment.extents[0]; }

absl::Status RunAdd(const Launch& launch, ParallelExecutor& threads) {
  const auto addend = static_cast<std::int32_t>(launch.plan->Params<std::int64_t>());
  for (int s = 0; s < launch.segment_count; ++s) {
    const Segment& segment = launch.segments[s];
    threads.ParallelFor(CountOf(segment), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        OutputOf(segment)[i] = InputOf(segment)[i] + addend;
      }
    });
  }
  return absl::OkStatus();
}

/// RunAdd, and then one thing more that is wrong.
template <void (*Wrong)(const Segment&)>
absl::Status RunWrong(const Launch& launch, ParallelExecutor& threads) {
  absl::Status status = RunAdd(launch, threads);
  for (int s = 0; s < launch.segment_count; ++s) {
    Wrong(launch.segments[s]);
  }
  return status;
}

/// Past the ends with functions that AddressSanitizer does not look into: it would end the program before the guard
/// bands could be held against what they were.
__attribute__((no_sanitize("address"))) void WriteBehind(const Segment& segment) {
  volatile std::int32_t* const behind = OutputOf(segment) + CountOf(segment);
  *behind = 1;
}
__attribute__((no_sanitize("address"))) void WriteBefore(const Segment& segment) {
  volatile std::int32_t* const before = OutputOf(segment) - 1;
  *before = 1;
}
__attribute__((no_sanitize("address"))) void ReadBehind(const Segment& segment) {
  const volatile std::int32_t* const behind = InputOf(segment) + CountOf(segment);
  OutputOf(segment)[0] = *behind;
}
void WriteInput(const Segment& segment) { const_cast<std::int32_t*>(InputOf(segment))[0] += 1; }
void ReadWorkspace(const Segment& segment) { std::memcpy(OutputOf(segment), segment.workspace, sizeof(std::int32_t)); }

/// Leaves the last element out.
absl::Status RunAllButOne(const Launch& launch, ParallelExecutor& /*threads*/) {
  const Segment& segment = launch.segments[0];
  for (std::int64_t i = 0; i + 1 < CountOf(segment); ++i) {
    OutputOf(segment)[i] = InputOf(segment)[i];
  }
  return absl::OkStatus();
}

/// A result that depends on how the loop was cut.
absl::Status RunByRanges(const Launch& launch, ParallelExecutor& threads) {
  const Segment& segment = launch.segments[0];
  threads.ParallelFor(CountOf(segment), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      OutputOf(segment)[i] = static_cast<std::int32_t>(begin);
    }
  });
  return absl::OkStatus();
}

Operator AddOperator() {
  Operator op;
  op.spec.name = "add";
  op.spec.inputs = {{"x", DataTypeSet{DataType::kInt32}, DataType::kInt32, {-1, -1}, false, ""}};
  op.spec.outputs = {{"y", DataTypeSet{DataType::kInt32}, DataType::kInt32, {-1, -1}, false, ""}};
  op.spec.attributes = {{"addend", AttributeKind::kInt, "", "1"}};
  op.plan = PlanAdd;
  op.run_host = RunAdd;
  return op;
}

OperatorCase CaseOf(const Shape& shape, std::int64_t addend = 1) {
  OperatorCase test_case;
  test_case.name = "shape" + std::to_string(shape[0]);
  test_case.inputs = {MakeTensor(DataType::kInt32, shape, Values::kOutliers, 1)};
  test_case.attributes = {{"addend", addend}};
  return test_case;
}

/// Of the host's runner; skips where KERNELWIRE_TEST_DEVICE leaves it out.
class DeviceRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<DeviceRunner*> runners = AllDeviceRunners();
    const auto host =
        std::find_if(runners.begin(), runners.end(), [](auto* runner) { return runner->name() == "host"; });
    if (host == runners.end()) {
      GTEST_SKIP() << "without the host";
    }
    host_ = *host;
  }

  DeviceRunner& Host() const { return *host_; }

  /// What the runner says of an addition that `run_host` computes.
  std::string MessageOf(absl::Status (*run_host)(const Launch&, ParallelExecutor&)) const {
    Operator op = AddOperator();
    op.run_host = run_host;
    const auto outputs = Host().Run(op, CaseOf({3, 5}));
    return outputs.ok() ? "ok" : outputs.status().ToString();
  }

 private:
  DeviceRunner* host_ = nullptr;
};

TEST_F(DeviceRunnerTest, RunsABatchOfUnlikeShapes) {
  const OperatorCase cases[] = {CaseOf({2, 3}), CaseOf({0, 5}), CaseOf({4, 1})};
  const auto outputs = Host().RunBatch(AddOperator(), {&cases[0], &cases[1], &cases[2]});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (std::size_t c = 0; c < 3; ++c) {
    std::vector<double> expected = ToDoubles(cases[c].inputs[0]);
    for (double& value : expected) {
      value += 1;
    }
    ASSERT_EQ((*outputs)[c].size(), 1u);
    EXPECT_EQ((*outputs)[c][0].desc.shape, cases[c].inputs[0].desc.shape);
    EXPECT_EQ(ToDoubles((*outputs)[c][0]), expected);
  }
}

TEST_F(DeviceRunnerTest, RunsLaunchesInARow) {
  const OperatorCase one = CaseOf({2, 3}, 1);
  const OperatorCase two = CaseOf({4, 3}, 2);
  const auto outputs = Host().RunInARow(AddOperator(), {&one, &two, &one});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 3u);
  EXPECT_TRUE(SameBits((*outputs)[0][0], Host().Run(AddOperator(), one)->front()));
  EXPECT_TRUE(SameBits((*outputs)[1][0], Host().Run(AddOperator(), two)->front()));
  EXPECT_TRUE(SameBits((*outputs)[2][0], (*outputs)[0][0]));
}

TEST_F(DeviceRunnerTest, RefusesToBatchDifferentKeys) {
  const OperatorCase one = CaseOf({2, 3}, 1);
  const OperatorCase two = CaseOf({2, 3}, 2);
  EXPECT_THAT(Host().RunBatch(AddOperator(), {&one, &two}).status().ToString(), HasSubstr("different batch keys"));
}

TEST_F(DeviceRunnerTest, PassesOnWhatThePlanRefuses) {
  OperatorCase test_case = CaseOf({2, 3});
  test_case.attributes = {{"addend", 1.5}};
  EXPECT_EQ(Host().Run(AddOperator(), test_case).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DeviceRunnerTest, CatchesStrayWrites) {
  EXPECT_EQ(MessageOf(RunAdd), "ok");
  EXPECT_THAT(MessageOf(RunWrong<WriteBehind>), HasSubstr("shape3, output y: the launch wrote beside it"));
  EXPECT_THAT(MessageOf(RunWrong<WriteBefore>), HasSubstr("shape3, output y: the launch wrote beside it"));
  EXPECT_THAT(MessageOf(RunWrong<WriteInput>), HasSubstr("shape3, input x: the launch changed it"));
}

TEST_F(DeviceRunnerTest, CatchesResultsThatDependOnWhatLaysAround) {
  EXPECT_THAT(MessageOf(RunWrong<ReadBehind>), HasSubstr("different bits"));
  EXPECT_THAT(MessageOf(RunWrong<ReadWorkspace>), HasSubstr("different bits"));
  EXPECT_THAT(MessageOf(RunAllButOne), HasSubstr("shape3, output y: two runs"));
  EXPECT_THAT(MessageOf(RunByRanges), HasSubstr("different bits"));
}

TEST_F(DeviceRunnerTest, CatchesPlansThatContradictThemselves) {
  Operator op = AddOperator();
  op.plan = [](const PlanRequest& request) {
    absl::StatusOr<Plan> plan = PlanAdd(request);
    plan->outputs[0].bytes -= 4;
    return plan;
  };
  EXPECT_THAT(Host().Run(op, CaseOf({3, 5})).status().ToString(), HasSubstr("plan: output 0 of INT32 [3,5] has 56"));
}

TEST_F(DeviceRunnerTest, FinishShrinksOutputs) {
  Operator op = AddOperator();
  op.finish = [](const Plan&, FinishedOutput* outputs) {
    outputs[0].desc.shape = {1, 5};
    return absl::OkStatus();
  };
  const auto outputs = Host().Run(op, CaseOf({3, 5}));
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].bytes.size(), 20u);
  op.finish = [](const Plan&, FinishedOutput* finished) {
    finished[0].desc.shape = {4, 5};
    return absl::OkStatus();
  };
  EXPECT_THAT(Host().Run(op, CaseOf({3, 5})).status().ToString(), HasSubstr("larger than planned"));
}

TEST(GuardedBufferTest, StartsAtAMultipleOf256AndNoMore) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    const GuardedBuffer buffer(bytes, std::byte{7});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 512, buffer.payload_offset() == 0 ? 0u : 256u);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_TRUE(buffer.GuardsIntact());
  }
}

TEST(ThreadExecutorTest, CoversEverythingOnceFromSeveralThreads) {
  ThreadExecutor executor(4);
  for (const std::int64_t count : {0, 1, 7, 100}) {
    for (const std::int64_t grain : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      executor.ParallelFor(count, grain, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_LT(begin, end);
        EXPECT_TRUE(end - begin >= grain || end == count);
        for (std::int64_t i = begin; i < end; ++i) {
          visits[static_cast<std::size_t>(i)].fetch_add(1);
        }
      });
      for (const std::atomic<int>& visit : visits) {
        EXPECT_EQ(visit.load(), 1);
      }
    }
  }
}

TEST(ThreadExecutorTest, ThreadsRunAtTheSameTime) {
  // Two ranges that each wait for the other can only end on two threads.
  ThreadExecutor executor(2);
  std::atomic<int> arrived{0};
  executor.ParallelFor(2, 1, [&](std::int64_t, std::int64_t) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) {
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(arrived.load(), 2);
}

}  // namespace
}  // namespace kernelwire::testing
