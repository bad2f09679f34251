// What norms multiply by, on the device: means and inverse roots that FP32 rows are given to more digits than a float
// has. Compared with f64 on the host.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_mean.cuh"

namespace kernelwire {
namespace {

using testing::kInf;
using testing::kNan;

class NormArithmeticTest : public testing::DeviceBodyTest {
 protected:
  static constexpr int kCount = 512;

  /// Numbers of all sizes between 2^-`exponent` and 2^`exponent`.
  std::vector<float> Positive(int exponent) {
    std::uniform_real_distribution<float> mantissa(1.0F, 2.0F);
    std::uniform_int_distribution<int> power(-exponent, exponent - 1);
    std::vector<float> values(kCount);
    std::generate(values.begin(), values.end(), [&] { return std::ldexp(mantissa(random_), power(random_)); });
    return values;
  }
};

/// Of each number its inverse root as a factor, in f64 and as a float, the product of three and that, and -1 if its
/// product with -0 is -0.
struct FactorOfEach {
  using In = float;
  using Out = double;

  __device__ void operator()(const float* in, double* out) const {
    const TwoPartFactor factor = InverseRootFor<float>(in[threadIdx.x]);
    double* const mine = out + 4 * threadIdx.x;
    mine[0] = static_cast<double>(factor.value) + static_cast<double>(factor.rest);
    mine[1] = static_cast<double>(static_cast<float>(factor));
    mine[2] = static_cast<double>(Times(3.0F, factor));
    mine[3] = copysign(1.0, static_cast<double>(Times(-0.0F, factor)));
  }
};

struct PowerNearRootOfEach {
  using In = float;
  using Out = float;
  __device__ void operator()(const float* in, float* out) const { out[threadIdx.x] = PowerNearRoot(in[threadIdx.x]); }
};

TEST_F(NormArithmeticTest, PowersNearRootsAreThose) {
  const std::vector<float> numbers = Positive(120);
  const std::vector<float> powers = Run(PowerNearRootOfEach{}, numbers, numbers.size(), kCount);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    int exponent = 0;
    EXPECT_EQ(std::frexp(powers[i], &exponent), 0.5F) << numbers[i];
    EXPECT_LE(powers[i], std::sqrt(numbers[i])) << numbers[i];
    EXPECT_GT(2.0F * powers[i], std::sqrt(numbers[i])) << numbers[i];
  }
}

TEST_F(NormArithmeticTest, InverseRootsHaveMoreDigitsThanAFloat) {
  std::vector<float> numbers = Positive(100);
  numbers[0] = 3.3e38F;
  numbers[1] = 0x1p-120F;
  const auto found = Run(FactorOfEach{}, numbers, 4 * numbers.size(), kCount);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double expected = 1.0 / std::sqrt(static_cast<double>(numbers[i]));
    EXPECT_NEAR(found[4 * i] / expected, 1.0, std::ldexp(1.0, -40)) << numbers[i];
    EXPECT_EQ(found[4 * i + 1], static_cast<double>(static_cast<float>(expected))) << numbers[i];
    EXPECT_EQ(found[4 * i + 2], static_cast<double>(static_cast<float>(3.0 * expected))) << numbers[i];
    EXPECT_EQ(found[4 * i + 3], -1.0) << numbers[i];
  }
}

TEST_F(NormArithmeticTest, InverseRootsOfZeroInfinityAndNanAreThoseOfOneStep) {
  const auto found = Run(FactorOfEach{}, {0.0F, kInf, kNan, -1.0F}, 16, 4);
  EXPECT_EQ(found[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(found[2], std::numeric_limits<double>::infinity());
  EXPECT_EQ(found[4], 0.0);
  EXPECT_EQ(found[6], 0.0);
  for (const std::size_t i : {8, 9, 10, 12, 13, 14}) {
    EXPECT_TRUE(std::isnan(found[i])) << i;
  }
}

/// The mean that each sum is of, in rows of `width` elements that lanes or blocks share.
struct MeanOfEach {
  using In = float;
  using Out = double;
  WidthReciprocal reciprocal;
  std::int64_t width;

  __device__ void operator()(const float* in, double* out) const {
    const RowMean<float, LaneGroup<32>, float> of_lanes(reciprocal, width);
    const RowMean<float, BlockGroup, float> of_blocks(reciprocal, width);
    out[2 * threadIdx.x] = static_cast<double>(of_lanes(in[threadIdx.x]));
    out[2 * threadIdx.x + 1] = static_cast<double>(of_blocks(in[threadIdx.x]));
  }
};

TEST_F(NormArithmeticTest, MeansOfFloatsAreRoundedOnce) {
  for (const std::int64_t width : {1, 3, 100, 1000, 1024, 12289, 65536, 99999}) {
    const std::vector<float> sums = Positive(60);
    const auto found = Run(MeanOfEach{WidthReciprocal::Of(width), width}, sums, 2 * sums.size(), kCount);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto expected = static_cast<double>(sums[i] / static_cast<float>(width));
      EXPECT_EQ(found[2 * i], expected) << sums[i] << " of " << width;
      EXPECT_EQ(found[2 * i + 1], expected) << sums[i] << " of " << width;
    }
  }
}

TEST_F(NormArithmeticTest, MeansThatAreNoNumbersStaySo) {
  const auto found = Run(MeanOfEach{WidthReciprocal::Of(7), 7}, {kInf, -kInf, kNan}, 6, 3);
  EXPECT_EQ(found[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(found[2], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(found[4]));
  EXPECT_TRUE(std::isnan(Run(MeanOfEach{WidthReciprocal::Of(0), 0}, {0.0F}, 2, 1)[0])) << "the mean of nothing";
}

}  // namespace
}  // namespace kernelwire
