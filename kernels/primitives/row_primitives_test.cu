// What rows are worked on with on the device, by itself: groups of lanes, blocks and clusters that agree on a sum.
// Compared with the host, which counts one by one.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"

namespace kernelwire {
namespace {

using testing::Awkward;
using testing::Plus;
using testing::TreeSum;

class RowPrimitivesTest : public testing::DeviceBodyTest {};

LaunchShape ShapeOf(unsigned blocks, unsigned threads, unsigned cluster_blocks = 1) {
  LaunchShape shape;
  shape.blocks = blocks;
  shape.threads = threads;
  shape.cluster_blocks = cluster_blocks;
  shape.shared_bytes = BlockGroup::SpaceOf(threads / 32, cluster_blocks);
  return shape;
}

/// Groups from `rows` on have no row, and go.
template <int kLanes>
struct SumGroups {
  using In = float;
  using Out = float;
  int rows;
  bool alone;
  __device__ void operator()(const float* in, float* out) const {
    const int row = static_cast<int>(threadIdx.x) / kLanes;
    if (row >= rows) {
      return;
    }
    LaneGroup<kLanes> group;
    const int rows_of_warp = 32 / kLanes;
    group.Begin(row / rows_of_warp * rows_of_warp + rows_of_warp <= rows);
    if (alone) {
      group.GoAlone();
    }
    const float sum = group.Reduce(RowParts<float, 1>{{in[threadIdx.x]}}, 0.0F, Plus{});
    out[threadIdx.x] = sum + group.FromFirst(in[threadIdx.x]);
  }
};

TEST_F(RowPrimitivesTest, GroupsOfLanesReduceAlikeTogetherAndAlone) {
  const std::vector<float> in = Awkward(&random_, 64);
  const auto expect = [&](auto lanes) {
    constexpr int kLanes = decltype(lanes)::value;
    for (const int rows : {64 / kLanes, 64 / kLanes - 1, 1}) {
      for (const bool alone : {false, true}) {
        const auto out = Run(SumGroups<kLanes>{rows, alone}, in, 64, 64);
        for (int i = 0; i < 64; ++i) {
          const float* const row = &in[static_cast<std::size_t>(i / kLanes * kLanes)];
          const float sum = i / kLanes < rows ? TreeSum(row, kLanes, kLanes) + row[0] : 0.0F;
          EXPECT_EQ(out[static_cast<std::size_t>(i)], sum) << "lane " << i << ", " << rows << " rows of " << kLanes;
        }
      }
    }
  };
  expect(std::integral_constant<int, 4>{});
  expect(std::integral_constant<int, 8>{});
  expect(std::integral_constant<int, 16>{});
  expect(std::integral_constant<int, 32>{});
}

/// Each thread has a value of each of its warp's stretches, of which there are kStretches; again and again.
template <int kStretches>
struct SumStretches {
  static constexpr int kRounds = 5;  // more than there are places for results, or phases of a barrier
  using In = float;
  using Out = float;
  int cluster_blocks;
  __device__ void operator()(const float* in, float* out) const {
    BlockGroup group(cluster_blocks);
    for (int round = 0; round < kRounds; ++round) {
      RowParts<float, kStretches> parts;
      for (int s = 0; s < kStretches; ++s) {
        const int stretch = group.rank() / 32 * kStretches + s;
        parts.of_stretch[s] = in[stretch * 32 + group.lane()] * static_cast<float>(1 << round);
      }
      out[round * group.size() + group.rank()] = group.Reduce(parts, 0.0F, Plus{});
    }
  }
};

TEST_F(RowPrimitivesTest, StretchesMeetInTheSameTreeWhoeverHoldsThem) {
  constexpr int kCount = 16;
  const std::vector<float> in = Awkward(&random_, kCount * 32);
  float stretches[kCount];
  for (int i = 0; i < kCount; ++i) {
    stretches[i] = TreeSum(&in[static_cast<std::size_t>(i) * 32], 32, 32);
  }
  const auto expect = [&](const std::vector<float>& out, int threads, int of) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto scale = static_cast<float>(1 << i / static_cast<std::size_t>(threads));
      ASSERT_EQ(out[i], TreeSum(stretches, of, kCount) * scale) << threads << " threads, place " << i;
    }
  };
  for (const unsigned blocks : {1U, 2U, 4U, 8U, 16U}) {
    if (blocks > 1 && !DeviceHasClusters()) {
      break;
    }
    const unsigned threads = 512 / blocks;
    expect(Run(SumStretches<1>{static_cast<int>(blocks)}, in, 5 * 512, ShapeOf(blocks, threads, blocks)), 512, 16);
    if (threads > 32) {
      const LaunchShape shape = ShapeOf(blocks, threads / 2, blocks);
      expect(Run(SumStretches<2>{static_cast<int>(blocks)}, in, 5 * 256, shape), 256, 16);
    }
    if (threads > 64) {
      const LaunchShape shape = ShapeOf(blocks, threads / 4, blocks);
      expect(Run(SumStretches<4>{static_cast<int>(blocks)}, in, 5 * 128, shape), 128, 16);
    }
  }
  // Fewer stretches than leaves: a block of nine warps.
  expect(Run(SumStretches<1>{1}, in, 5 * 288, 288), 288, 9);
}

TEST_F(RowPrimitivesTest, StretchesMeetInTheSameTreeInBlocksOfAnyWarps) {
  constexpr int kMost = 256;
  const std::vector<float> in = Awkward(&random_, kMost * 32);
  float stretches[kMost];
  for (int i = 0; i < kMost; ++i) {
    stretches[i] = TreeSum(&in[static_cast<std::size_t>(i) * 32], 32, 32);
  }
  for (unsigned warps = 1; warps <= 16; ++warps) {
    for (unsigned blocks = 1; blocks <= (DeviceHasClusters() ? 16U : 1U); ++blocks) {
      const unsigned threads = blocks * warps * 32;
      const float sum = TreeSum(stretches, static_cast<int>(blocks * warps), kMost);
      const auto out = Run(SumStretches<1>{static_cast<int>(blocks)}, in, std::size_t{5} * threads,
                           ShapeOf(blocks, warps * 32, blocks));
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], sum * static_cast<float>(1 << i / threads)) << blocks << " blocks of " << warps << ", " << i;
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire
