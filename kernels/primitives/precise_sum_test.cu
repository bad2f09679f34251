// Sums of rows in more digits than f32 has, and the means of them. Compared with the host, which adds halves of warps
// as they do and the rest exactly.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_mean.cuh"

namespace kernelwire {
namespace {

using testing::Awkward;
using testing::kInf;
using testing::kNan;
using testing::TreeSum;

class PreciseSumTest : public testing::DeviceBodyTest {
 protected:
  /// Numbers that are much alike: of their sums, f32 drops the digits in which they differ.
  std::vector<float> Alike(int count) {
    std::vector<float> values = Awkward(&random_, count);
    for (float& value : values) {
      value = 1e8F + 1e-5F * value;
    }
    return values;
  }
};

/// Of each group of lanes the sum, in f64, and its mean.
template <int kLanes>
struct SumOfLanes {
  using In = float;
  using Out = double;
  WidthReciprocal reciprocal;
  std::int64_t width;
  bool alone;
  __device__ void operator()(const float* in, double* out) const {
    LaneGroup<kLanes> group;
    group.Begin(!alone);
    const TwoParts<float> sum = PreciseRowSum(group, RowParts<float, 1>{{in[threadIdx.x]}});
    const RowMean<float, LaneGroup<kLanes>, float> mean(reciprocal, width);
    out[2 * threadIdx.x] = static_cast<double>(sum.value) + static_cast<double>(sum.rest);
    out[2 * threadIdx.x + 1] = static_cast<double>(mean(sum));
  }
};

/// The same of a block, or a cluster; a warp has kStretches values of each lane, one after another.
template <int kStretches>
struct SumOfBlock {
  using In = float;
  using Out = double;
  WidthReciprocal reciprocal;
  std::int64_t width;
  int cluster_blocks;
  __device__ void operator()(const float* in, double* out) const {
    BlockGroup group(cluster_blocks);
    RowParts<float, kStretches> parts;
    for (int s = 0; s < kStretches; ++s) {
      parts.of_stretch[s] = in[(group.rank() / 32 * kStretches + s) * 32 + group.lane()];
    }
    const double sum = PreciseRowSum(group, parts);
    const RowMean<float, BlockGroup, float> mean(reciprocal, width);
    out[2 * group.rank()] = sum;
    out[2 * group.rank() + 1] = static_cast<double>(mean(sum));
  }
};

void ExpectSum(const double* found, double sum, std::int64_t width, const char* of) {
  ASSERT_EQ(found[0], sum) << of;
  const double mean = sum / static_cast<double>(width);
  ASSERT_NEAR(found[1], mean, mean * 0.51 * std::numeric_limits<float>::epsilon()) << of << ", " << width;
}

TEST_F(PreciseSumTest, HalvesOfLanesMeetWithoutRounding) {
  const std::vector<float> in = Alike(64);
  const auto expect = [&](auto lanes) {
    constexpr int kLanes = decltype(lanes)::value;
    for (const std::int64_t width : {7, 1003}) {
      for (const bool alone : {false, true}) {
        const auto out = Run(SumOfLanes<kLanes>{WidthReciprocal::Of(width), width, alone}, in, 128, 64);
        for (std::size_t i = 0; i < 64; ++i) {
          const float* const row = &in[i / kLanes * kLanes];
          constexpr int kHalf = kLanes / 2;
          const double sum = kLanes == 1 ? static_cast<double>(row[0])
                                         : static_cast<double>(TreeSum(row, kHalf, kHalf)) +
                                               static_cast<double>(TreeSum(row + kHalf, kHalf, kHalf));
          ExpectSum(&out[2 * i], sum, width, "lanes");
        }
      }
    }
  };
  expect(std::integral_constant<int, 1>{});
  expect(std::integral_constant<int, 2>{});
  expect(std::integral_constant<int, 8>{});
  expect(std::integral_constant<int, 16>{});
  expect(std::integral_constant<int, 32>{});
}

TEST_F(PreciseSumTest, WarpsMeetWithoutRounding) {
  const std::vector<float> in = Alike(64 * 32);
  const auto expect = [&](auto stretches, unsigned warps, unsigned blocks) {
    constexpr int kStretches = decltype(stretches)::value;
    const unsigned threads = warps * blocks * 32;
    double sum = 0.0;
    for (unsigned half = 0; half < 2 * kStretches * warps * blocks; ++half) {
      sum += static_cast<double>(TreeSum(&in[16 * half], 16, 16));  // exact: 40 bits hold it
    }
    LaunchShape shape;
    shape.blocks = blocks;
    shape.threads = warps * 32;
    shape.cluster_blocks = blocks;
    shape.shared_bytes = BlockGroup::SpaceOf(warps, blocks);
    const std::int64_t width = 45001;
    const auto out = Run(SumOfBlock<kStretches>{WidthReciprocal::Of(width), width, static_cast<int>(blocks)}, in,
                         std::size_t{2} * threads, shape);
    for (unsigned i = 0; i < threads; ++i) {
      ExpectSum(&out[std::size_t{2} * i], sum, width, "blocks");
    }
  };
  for (const unsigned warps : {1U, 3U, 8U, 16U}) {
    for (const unsigned blocks : {1U, 3U, 4U}) {
      if (blocks == 1 || DeviceHasClusters()) {
        expect(std::integral_constant<int, 1>{}, warps, blocks);
      }
    }
    expect(std::integral_constant<int, 2>{}, warps, 1);
    expect(std::integral_constant<int, 4>{}, warps, 1);
  }
}

TEST_F(PreciseSumTest, WhatIsNoNumberStaysSo) {
  for (const float odd : {kInf, kNan}) {
    std::vector<float> in(64, 1.0F);
    in[5] = odd;
    const auto of_lanes = Run(SumOfLanes<32>{WidthReciprocal::Of(64), 64, false}, in, 128, 64);
    const auto of_block = Run(SumOfBlock<1>{WidthReciprocal::Of(64), 64, 1}, in, 128, 64);
    for (const double mean : {of_lanes[1], of_lanes[63], of_block[1], of_block[127]}) {
      EXPECT_TRUE(odd == kInf ? mean == static_cast<double>(kInf) : mean != mean) << mean;
    }
  }
}

}  // namespace
}  // namespace kernelwire
