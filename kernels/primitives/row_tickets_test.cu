// Rows from tickets, by themselves: clusters that stay, and blocks, have each row once, all blocks of a cluster the
// same ones, know which is next, and leave the tickets as they were.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_tickets.cuh"

namespace kernelwire::testing {
namespace {

/// Leaves for each row how many warps have had it, and behind them how often the blocks of a cluster had rows that were
/// not the same, a cluster went on to another row than was said, or had one of another kind; then the tickets.
/// `kAhead`: the next row is asked for first, and remembered.
template <unsigned kAlike, bool kAhead>
struct TakeRows {
  using In = std::uint32_t;
  using Out = std::uint32_t;
  unsigned rows;
  int blocks;

  __device__ void operator()(const In* /*in*/, Out* out) const {
    std::uint32_t* const wrong = out + rows;
    TicketRows<kAlike> own(wrong + 1, blocks);
    BlockGroup group(blocks, true);
    unsigned said = own.Row();
    while (own.HaveOneBefore(rows)) {
      own.Ask(group);
      const unsigned next = kAhead ? own.NextCode() : 0;
      const unsigned row = own.Row();
      const auto sum = RowSum(group, RowParts<float, 1>{{static_cast<float>(row % 1024)}});
      own.Tell(group);
      const bool same = sum == static_cast<float>(row % 1024 * static_cast<unsigned>(group.size()));
      if (!same || row != said || row % kAlike != own.Kind()) {
        atomicAdd(wrong, 1U);
      }
      if (threadIdx.x % 32 == 0) {
        atomicAdd(out + row, 1U);
      }
      said = kAhead ? own.RowOf(next) : own.Next();
      if (kAhead) {
        own.GoOnTo(next);
      } else {
        own.GoOn();
      }
    }
    own.End(group);
  }
};

class RowTicketsTest : public DeviceBodyTest {
 protected:
  template <unsigned kAlike, bool kAhead>
  void ExpectEachRowOnce(unsigned rows, unsigned blocks, unsigned clusters, unsigned warps) {
    SCOPED_TRACE(::testing::Message() << rows << " rows, " << clusters << " clusters of " << blocks << " blocks of "
                                      << warps << " warps, kinds of rows: " << kAlike << ", ahead: " << kAhead);
    LaunchShape shape;
    shape.blocks = clusters * blocks;
    shape.threads = warps * 32;
    shape.cluster_blocks = blocks;
    shape.shared_bytes = BlockGroup::SpaceOf(warps, blocks, true);
    const auto out =
        this->Run(TakeRows<kAlike, kAhead>{rows, static_cast<int>(blocks)}, {0U}, rows + std::size_t{4}, shape);
    for (unsigned i = 0; i < rows; ++i) {
      ASSERT_EQ(out[i], blocks * warps) << "row " << i;
    }
    EXPECT_EQ(out[rows], 0U) << "rows that were not those of the other blocks, not those said, or of another kind";
    for (unsigned i = 1; i < 4; ++i) {
      EXPECT_EQ(out[rows + i], 0U) << "ticket " << i - 1;
    }
  }
};

TEST_F(RowTicketsTest, EachRowIsTakenOnceByAllBlocksOfAClusterAndTheTicketsAreAsBefore) {
  if (!DeviceHasClusters()) {
    GTEST_SKIP() << "blocks of this device do not share rows";
  }
  for (const unsigned blocks : {1U, 2U, 5U, 8U, 16U}) {
    for (const unsigned rows : {1U, 2U, 3U, 7U, 200U, 3001U}) {
      for (const unsigned clusters : {2U, 4U, 30U}) {
        for (const unsigned warps : {1U, 5U}) {
          ExpectEachRowOnce<1, false>(rows, blocks, clusters, warps);
          ExpectEachRowOnce<2, false>(rows, blocks, clusters, warps);
          ExpectEachRowOnce<1, true>(rows, blocks, clusters, warps);
        }
      }
      ExpectEachRowOnce<1, false>(rows, blocks, 1, 2);
      ExpectEachRowOnce<1, true>(rows, blocks, 1, 2);
      ExpectEachRowOnce<1, false>(rows, blocks, 7, 2);
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing
