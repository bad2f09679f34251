// What rows are worked on with on the device, by itself: groups of lanes, blocks and clusters that agree on a sum, the
// statistics of a softmax, exponentials. Compared with the host, which counts one by one.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/primitives/exp_in_two.cuh"
#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {
namespace {

using testing::Awkward;
using testing::kInf;
using testing::kNan;
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

/// Statistics of eights of elements, a thread each, merged by lanes.
template <typename Result>
struct MergeSoftmax {
  using In = float;
  using Out = double;
  __device__ void operator()(const float* in, double* out) const {
    RunningSoftmax<float> running = RunningSoftmax<float>::Empty();
    for (int half = 0; half < 2; ++half) {
      float values[4];
      for (int i = 0; i < 4; ++i) {
        values[i] = in[threadIdx.x * 8 + half * 4 + i];
      }
      AddElements<Result>(values, running);
    }
    const auto merged = ReduceLanes<32>(
        running, [](const RunningSoftmax<float>& a, const RunningSoftmax<float>& b) { return Merge<Result>(a, b); });
    out[threadIdx.x * 2] = merged.maximum;
    out[threadIdx.x * 2 + 1] = merged.sum;
  }
};

TEST_F(RowPrimitivesTest, RunningSoftmaxHasTheMaximumAndTheSumOfAllParts) {
  const auto expect = [&](const std::vector<float>& in, const char* what) {
    double maximum = -kInf;
    for (const float value : in) {
      maximum = std::fmax(maximum, value);
    }
    double sum = 0.0;
    for (const float value : in) {
      sum += value == -kInf ? 0.0 : std::exp(value - maximum);
    }
    const auto check = [&](const std::vector<double>& out, double bound) {
      for (std::size_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(out[lane * 2 + 1], out[1]) << what << ", lane " << lane;
        EXPECT_EQ(out[lane * 2], maximum) << what << ", lane " << lane;
      }
      EXPECT_NEAR(out[1], sum, bound * sum) << what;
    };
    check(Run(MergeSoftmax<float>{}, in, 64, 32), 1e-6);
    check(Run(MergeSoftmax<__nv_bfloat16>{}, in, 64, 32), 2e-5);
  };
  std::vector<float> in(256);
  std::normal_distribution<float> normal(0.0F, 10.0F);
  for (float& value : in) {
    value = normal(random_);
  }
  expect(in, "ordinary");
  for (std::size_t i = 8; i < 256; ++i) {
    in[i] = -kInf;  // whole threads
  }
  expect(in, "one part that counts");
  in[0] = 3e38F;
  in[1] = -3e38F;
  expect(in, "the ends of f32");
  expect(std::vector<float>(256, -kInf), "nothing");
}

TEST_F(RowPrimitivesTest, RunningSoftmaxSumsToNanWithAnInfinityOrANan) {
  for (const float odd : {kInf, kNan}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{7}, std::size_t{255}}) {
      std::vector<float> in(256, 1.0F);
      in[place] = odd;
      EXPECT_TRUE(std::isnan(Run(MergeSoftmax<float>{}, in, 64, 32)[1])) << odd << " at " << place;
      EXPECT_TRUE(std::isnan(Run(MergeSoftmax<__half>{}, in, 64, 32)[1])) << odd << " at " << place;
    }
  }
}

/// Scaled exponentials of what could come out of a softmax.
template <typename Result>
struct ExpOf {
  using In = float;
  using Out = float;
  __device__ void operator()(const float* in, float* out) const {
    out[threadIdx.x] = ScaledExp<Result>(in[threadIdx.x]) * (1.0F / kExpScale<Result>);
  }
};

TEST_F(RowPrimitivesTest, ExponentialsKeepWhatAResultCanShow) {
  std::vector<float> in(512);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = -92.0F * static_cast<float>(i) / 511.0F;  // exp(-92) is a third of the least BF16
  }
  const auto check = [&](const std::vector<float>& out, double least) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double exact = std::exp(static_cast<double>(in[i]));
      EXPECT_NEAR(out[i], exact, exact * (5.0 - in[i]) * 0x1p-23 + least) << in[i];
    }
  };
  check(Run(ExpOf<__nv_bfloat16>{}, in, 512, 512), 0x1p-134);
  check(Run(ExpOf<__half>{}, in, 512, 512), 0x1p-126);
  check(Run(ExpOf<float>{}, in, 512, 512), 0x1p-149);
}

/// Statistics of two numbers each, maximum and sum, merged by lanes: their maximum, both parts of the sum, and its
/// first.
struct MergeTwoParts {
  using In = float;
  using Out = double;
  __device__ void operator()(const float* in, double* out) const {
    const auto own = TwoPartSoftmax::Of(in[2 * threadIdx.x], static_cast<double>(in[2 * threadIdx.x + 1]));
    const auto merged =
        ReduceLanes<32>(own, [](const TwoPartSoftmax& a, const TwoPartSoftmax& b) { return Merge<float>(a, b); });
    const TwoParts<float> sum = merged.Sum();
    out[3 * threadIdx.x] = merged.maximum;
    out[3 * threadIdx.x + 1] = static_cast<double>(sum.value) + static_cast<double>(sum.rest);
    out[3 * threadIdx.x + 2] = sum.value;
  }
};

TEST_F(RowPrimitivesTest, SumsInTwoPartsKeepWhatRoundingTakes) {
  std::uniform_real_distribution<float> size(1.0F, 100.0F);
  // Maxima that are alike, around one reference, around several, and so far apart that most parts vanish.
  for (const float deviation : {0.0F, 5.0F, 30.0F, 1e4F, 1e30F}) {
    std::normal_distribution<float> normal(deviation == 30.0F ? -1000.0F : 11.0F, deviation);
    std::vector<float> in(64);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const bool nothing = lane % 5 == 2;
      in[2 * lane] = nothing ? -kInf : deviation == 0.0F ? 3.0F : normal(random_);
      in[2 * lane + 1] = nothing ? 0.0F : size(random_);
    }
    double maximum = -kInf;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      maximum = std::max(maximum, static_cast<double>(in[2 * lane]));
    }
    double sum = 0.0;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      sum += static_cast<double>(in[2 * lane + 1]) * std::exp(static_cast<double>(in[2 * lane]) - maximum);
    }
    const auto out = Run(MergeTwoParts{}, in, 96, 32);
    EXPECT_EQ(out[0], maximum);
    // A factor to a part's reference has a few digits more than a float, and the way back of the largest part is exact.
    EXPECT_NEAR(out[1] / sum, 1.0, deviation == 0.0F ? 0x1p-42 : 0x1p-25) << "maxima deviate by " << deviation;
    for (std::size_t lane = 1; lane < 32; ++lane) {
      EXPECT_EQ(out[3 * lane + 1], out[1]) << "lane " << lane;
      EXPECT_EQ(out[3 * lane + 2], out[2]) << "lane " << lane;
    }
  }
  std::vector<float> nothing(64, 0.0F);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    nothing[2 * lane] = -kInf;
  }
  const auto out = Run(MergeTwoParts{}, nothing, 96, 32);
  EXPECT_EQ(out[0], -kInf);
  EXPECT_EQ(out[1], 0.0);
  nothing[31] = kNan;
  EXPECT_TRUE(std::isnan(Run(MergeTwoParts{}, nothing, 96, 32)[1]));
}

TEST_F(RowPrimitivesTest, OneElementThatLeavesNothingOfOthersIsAllOfTheSum) {
  for (const float largest : {0.0F, 7.3F, -31.9F, 33.1F, -1234.5F, 1e30F}) {
    std::vector<float> one(64, 0.0F);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      one[2 * lane] = lane == 11 ? largest : lane % 2 == 0 ? -kInf : largest < 1e6F ? largest - 1000.0F : 0.0F;
      one[2 * lane + 1] = one[2 * lane] == -kInf ? 0.0F : 1.0F;
    }
    EXPECT_EQ(Run(MergeTwoParts{}, one, 96, 32)[1], 1.0) << largest;
  }
}

/// Of each number its exponential in two parts.
struct ExpInTwoOfEach {
  using In = float;
  using Out = double;
  __device__ void operator()(const float* in, double* out) const {
    const TwoParts<float> power = ExpInTwo(in[threadIdx.x]);
    out[threadIdx.x] = static_cast<double>(power.value) + static_cast<double>(power.rest);
  }
};

TEST_F(RowPrimitivesTest, ExponentialsInTwoPartsHaveMoreDigitsThanAFloat) {
  std::vector<float> in(512);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = i < 256 ? std::ldexp(i % 2 == 0 ? -1.0F : 1.0F, -static_cast<int>(i) / 8) * static_cast<float>(8 + i % 8)
                    : (static_cast<float>(i) - 384.0F) * 0.625F;
  }
  const std::vector<double> out = Run(ExpInTwoOfEach{}, in, 512, 512);
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_NEAR(out[i] / std::exp(static_cast<double>(in[i])), 1.0, 0x1p-26) << in[i];
  }
  EXPECT_EQ(Run(ExpInTwoOfEach{}, {0.0F}, 1, 1)[0], 1.0);
}

}  // namespace
}  // namespace kernelwire
