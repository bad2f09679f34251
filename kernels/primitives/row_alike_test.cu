// Rows that begin alike, by themselves: blocks that take them from tickets have each row once, know which is next, and
// leave the tickets as they were.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_alike.cuh"

namespace kernelwire {
namespace {

/// Leaves for each row how many warps have had it, and behind them how often a block has not begun with its parity, or
/// has gone on to another row than was said; then the tickets.
struct TakeRows {
  using In = std::uint32_t;
  using Out = std::uint32_t;
  unsigned rows;
  int turns;

  __device__ void operator()(const In* /*in*/, Out* out) const {
    std::uint32_t* const wrong = out + rows;
    unsigned said = blockIdx.x;
    AlikeRowsOfBlock alike(wrong + 1, turns);
    for (; alike.Row() < rows; alike.GoOn()) {
      const unsigned asked = alike.Ask();
      if (threadIdx.x == 0 && (alike.Row() % 2 != blockIdx.x % 2 || (said != alike.Row() && said != blockIdx.x))) {
        atomicAdd(wrong, 1U);
      }
      if (threadIdx.x % 32 == 0) {
        atomicAdd(out + alike.Row(), 1U);
      }
      alike.Tell(asked, [&](unsigned row) { said = row; });
      __syncthreads();
    }
    alike.End();
  }
};

class RowAlikeTest : public testing::DeviceBodyTest {};

TEST_F(RowAlikeTest, EachRowIsTakenOnceAndTheTicketsAreAsBefore) {
  constexpr unsigned kWarps = 3;
  for (const unsigned rows : {1U, 2U, 7U, 64U, 1001U, 20'000U}) {
    for (const int turns : {1, 2, 4}) {
      for (const int blocks : {2, 6, 1024}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows, " << turns << " at a time, " << blocks << " blocks");
        LaunchShape shape;
        shape.blocks = blocks;
        shape.threads = kWarps * 32;
        const auto out = Run(TakeRows{rows, turns}, {0U}, rows + std::size_t{4}, shape);
        for (unsigned i = 0; i < rows; ++i) {
          ASSERT_EQ(out[i], kWarps) << "row " << i;
        }
        EXPECT_EQ(out[rows], 0U) << "rows that were not those said, or not alike";
        for (unsigned i = 1; i < 4; ++i) {
          EXPECT_EQ(out[rows + i], 0U) << "ticket " << i - 1;
        }
      }
    }
  }
}

/// Leaves for each row how many lanes have had it.
template <int kLanes>
struct HaveRows {
  using In = std::uint32_t;
  using Out = std::uint32_t;
  unsigned rows;
  int turns;

  __device__ void operator()(const In* /*in*/, Out* out) const {
    const AlikeRowsOfLanes<kLanes> alike(turns);
    for (unsigned row = alike.first; row < min(rows, alike.end); row += alike.step) {
      atomicAdd(out + row, row % 2 == blockIdx.x % 2 ? 1U : 1000U);
    }
  }
};

TEST_F(RowAlikeTest, GroupsOfLanesHaveEachRowOnce) {
  for (const unsigned rows : {1U, 63U, 64U, 1000U}) {
    for (const int turns : {1, 3, 6}) {
      LaunchShape shape;
      shape.threads = 128;
      const std::int64_t of_both = std::int64_t{2} * (128 / 16) * turns;
      shape.blocks = (rows + of_both - 1) / of_both * 2;
      const auto out = Run(HaveRows<16>{rows, turns}, {0U}, rows, shape);
      for (unsigned i = 0; i < rows; ++i) {
        ASSERT_EQ(out[i], 16U) << "row " << i << " of " << rows << ", " << turns << " in turn";
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire
