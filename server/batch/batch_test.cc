// The layout of a batch in its slab, seen through a device.
#include "server/batch/batch.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "server/batch/cut.h"
#include "server/batch/retry_hint.h"
#include "server/batch/testing/fakes.h"

namespace kernelwire {
namespace {

using testing::FakeClock;
using testing::FakeDevice;
using testing::FakeRequest;

TEST(BatchLayout, TensorsAreAlignedDisjointAndInsideTheSlab) {
  FakeClock clock;
  FakeDevice device(1, 1 << 24, 4096);
  device.hold = true;
  Scheduler scheduler(SchedulerOptions{}, &clock, {&device}, nullptr, [] {});
  std::vector<std::unique_ptr<FakeRequest>> requests;
  for (std::uint64_t i = 0; i < 20; ++i) {
    requests.push_back(std::make_unique<FakeRequest>(i, 1, 1 + 97 * i));
    ASSERT_TRUE(scheduler.Submit(requests.back().get()).ok());
  }
  bool seen = false;
  device.on_run = [&](Batch& batch) {
    std::byte* host = batch.slab().host();
    std::uint32_t ticket = 0;
    const Launch& launch = batch.BuildLaunch({host, host, host, host, &ticket});
    EXPECT_EQ(launch.tickets, &ticket);
    ASSERT_EQ(launch.segment_count, 19);  // the first went alone, since a lane was free
    EXPECT_EQ(launch.total_rows, 19);
    const std::byte* end_of_inputs = host;
    for (int i = 0; i < launch.segment_count; ++i) {
      const Segment& segment = launch.segments[i];
      EXPECT_EQ(segment.first_row, i);
      const auto* input = static_cast<const std::byte*>(segment.inputs[0]);
      const auto* output = static_cast<const std::byte*>(segment.outputs[0]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(input) % kTensorAlignment, 0u);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(output) % kTensorAlignment, 0u);
      EXPECT_GE(input, end_of_inputs);
      end_of_inputs = input + segment.extents[0];
      EXPECT_GE(output, host + batch.copy_out_begin());
      EXPECT_LE(output + segment.extents[0], host + batch.slab().bytes());
      EXPECT_EQ(segment.inputs[1], nullptr);
      EXPECT_EQ(segment.workspace, nullptr);
    }
    EXPECT_LE(end_of_inputs, host + batch.copy_in_bytes());
    EXPECT_LE(batch.copy_in_bytes(), batch.copy_out_begin());
    seen = true;
  };
  while (device.FinishOne()) {
  }
  EXPECT_TRUE(seen);
  for (const auto& request : requests) {
    EXPECT_TRUE(request->status.ok()) << request->status;
    scheduler.ReleaseBudget(*request);
  }
  EXPECT_EQ(device.slabs().used_bytes(), 0u);
}

TEST(RetryHint, TravelsWithTheStatus) {
  EXPECT_EQ(RetryHintOf(absl::UnavailableError("x")), std::nullopt);
  const absl::Status hinted = WithRetryHint(absl::UnavailableError("x"), 25);
  EXPECT_EQ(RetryHintOf(hinted), 25);
  EXPECT_EQ(hinted.message(), "x");
}

}  // namespace
}  // namespace kernelwire
