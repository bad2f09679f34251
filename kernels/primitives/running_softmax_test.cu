// The statistics of a softmax on the device, exponentials, and numbers in two parts that they are made of. Compared
// with the host, which counts one by one in f64.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/primitives/exp_in_two.cuh"
#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_reduce.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {
namespace {

using testing::kInf;
using testing::kNan;

class RunningSoftmaxTest : public testing::DeviceBodyTest {};

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

TEST_F(RunningSoftmaxTest, HasTheMaximumAndTheSumOfAllParts) {
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

TEST_F(RunningSoftmaxTest, SumsToNanWithAnInfinityOrANan) {
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

TEST_F(RunningSoftmaxTest, ExponentialsKeepWhatAResultCanShow) {
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

/// A list of such statistics, merged with the quick way and without.
struct MergeList {
  using In = float;
  using Out = float;
  unsigned count;
  __device__ void operator()(const float* in, float* out) const {
    __shared__ TwoPartSoftmax list[PlaceInList(256)];
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
      list[PlaceInList(i)] = TwoPartSoftmax::Of(in[2 * i], static_cast<double>(in[2 * i + 1]));
    }
    __syncthreads();
    const auto merge = [](const TwoPartSoftmax& a, const TwoPartSoftmax& b) { return Merge<float>(a, b); };
    const TwoPartSoftmax merged[2] = {ReduceLongList(list, count, TwoPartSoftmax::Empty(), SoftmaxMerge{}),
                                      ReduceLongList(list, count, TwoPartSoftmax::Empty(), merge)};
    memcpy(out + threadIdx.x * 8, merged, sizeof(merged));
  }
};

TEST_F(RunningSoftmaxTest, StatisticsOfOneReferenceMergeQuicklyToTheSameNumbers) {
  std::uniform_real_distribution<float> size(1.0F, 100.0F);
  for (const float deviation : {0.0F, 5.0F, 30.0F, 200.0F}) {
    for (const unsigned count : {1U, 2U, 13U, 32U, 33U, 100U, 192U, 256U}) {
      std::normal_distribution<float> normal(3.0F, deviation);
      std::vector<float> in(512);
      for (std::size_t i = 0; i < 256; ++i) {
        const bool nothing = i % 7 == 5;
        in[2 * i] = nothing ? -kInf : normal(random_);
        in[2 * i + 1] = nothing ? 0.0F : size(random_);
      }
      const std::vector<float> out = Run(MergeList{count}, in, 256, 32);
      for (std::size_t i = 0; i < 256; ++i) {
        EXPECT_EQ(out[i], out[i / 8 * 8 + i % 4]) << "maxima deviate by " << deviation << ", " << count << " parts";
        EXPECT_EQ(out[i], out[i % 8]) << "lane " << i / 8;
      }
    }
  }
}

/// What makes a part's exponentials probabilities of a row of two parts, from both of its numbers.
struct ScaleOfPart {
  using In = float;
  using Out = double;
  __device__ void operator()(const float* in, double* out) const {
    const float own = in[3 * threadIdx.x];
    const float other = in[3 * threadIdx.x + 1];
    const auto row = Merge<float>(TwoPartSoftmax::Of(own, static_cast<double>(in[3 * threadIdx.x + 2])),
                                  TwoPartSoftmax::Of(other, 1.0));
    const TwoParts<float> scale = row.ScaleBelow(own);
    out[threadIdx.x] = static_cast<double>(scale.value) + static_cast<double>(scale.rest);
  }
};

TEST_F(RunningSoftmaxTest, ExponentialsBelowAPartsMaximumHaveAFactorOfMoreDigitsThanAFloat) {
  std::uniform_real_distribution<float> size(1.0F, 1000.0F);
  for (const float apart : {0.0F, 1e-3F, 1.3F, 31.0F, 70.0F, 100.0F, 1e4F}) {
    std::vector<float> in(96);
    for (std::size_t i = 0; i < 32; ++i) {
      in[3 * i] = std::normal_distribution<float>(i % 2 == 0 ? 0.0F : 1e4F, 40.0F)(random_);
      in[3 * i + 1] = in[3 * i] + (i % 3 == 0 ? -apart : apart);
      in[3 * i + 2] = size(random_);
    }
    const std::vector<double> out = Run(ScaleOfPart{}, in, 32, 32);
    for (std::size_t i = 0; i < 32; ++i) {
      const double above = static_cast<double>(in[3 * i + 1]) - static_cast<double>(in[3 * i]);
      const double exact = 1.0 / (static_cast<double>(in[3 * i + 2]) + std::exp(above));
      EXPECT_NEAR(out[i], exact, exact * 0x1p-24 + 0x1p-148) << in[3 * i] << ", the other part " << above << " above";
    }
  }
}

TEST_F(RunningSoftmaxTest, SumsInTwoPartsKeepWhatRoundingTakes) {
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

TEST_F(RunningSoftmaxTest, OneElementThatLeavesNothingOfOthersIsAllOfTheSum) {
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

TEST_F(RunningSoftmaxTest, ExponentialsInTwoPartsHaveMoreDigitsThanAFloat) {
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
