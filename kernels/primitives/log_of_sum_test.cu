// The logarithm of a sum, on the device, beside the host's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "kernels/primitives/log_of_sum.cuh"
#include "kernels/primitives/primitives_test.cuh"

namespace kernelwire {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Of the sums that a body's input has first; their offsets follow.
template <bool kShort, typename Sum>
struct LogOfEach {
  using In = double;
  using Out = float;
  int count;

  __device__ void operator()(const double* in, float* out) const {
    const int i = static_cast<int>(threadIdx.x);
    out[i] = LogOfSum<kShort>(static_cast<Sum>(in[i]), static_cast<float>(in[count + i]));
  }
};

class LogOfSumTest : public testing::DeviceBodyTest {
 protected:
  template <bool kShort, typename Sum>
  std::vector<float> LogOf(std::vector<double> sums, const std::vector<double>& offsets) {
    const std::size_t count = sums.size();
    sums.insert(sums.end(), offsets.begin(), offsets.end());
    return Run(LogOfEach<kShort, Sum>{static_cast<int>(count)}, sums, count, count);
  }

  /// Around 1 and around where the exponent changes hands; then sums of all sizes.
  std::vector<double> DrawSums(std::size_t count) {
    std::vector<double> sums = {1, 2, 4, 3, 1 + 1e-7, 1 + 1e-3, 1 - 1e-7, 0x1p31, 1e300, 1e-300};
    for (const double root : {std::sqrt(0.5), std::sqrt(2.0), 2 * std::sqrt(2.0)}) {
      for (const double about : {1 - 1e-6, 1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-6}) {
        sums.push_back(root * about);
      }
    }
    std::uniform_real_distribution<double> logarithm(0.0, 30.0);
    while (sums.size() < count) {
      sums.push_back(std::exp(logarithm(random_)));
    }
    return sums;
  }

  /// None, some that cancel the logarithm, some as large as elements are, and one that nothing is beside.
  std::vector<double> DrawOffsets(const std::vector<double>& sums) {
    std::vector<double> offsets;
    std::normal_distribution<float> normal(0.0F, 10.0F);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      offsets.push_back(i % 4 == 0   ? 0.0
                        : i % 4 == 1 ? static_cast<float>(-std::log(sums[i]))
                        : i % 4 == 2 ? normal(random_)
                                     : -3e38F);
    }
    return offsets;
  }
};

/// Half a unit in the last place of a result in f32.
double HalfUnit(double result) { return std::ldexp(std::abs(result), -24); }

TEST_F(LogOfSumTest, IsThatOfTheHost) {
  const std::vector<double> sums = DrawSums(512);
  const std::vector<double> offsets = DrawOffsets(sums);
  const std::vector<float> found = LogOf<false, double>(sums, offsets);
  const std::vector<float> found_shortly = LogOf<true, double>(sums, offsets);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double expected = std::log(sums[i]) + offsets[i];
    EXPECT_NEAR(found[i], expected, HalfUnit(expected) + 0x1p-24) << sums[i] << " " << offsets[i];
    const double terms = HalfUnit(expected) + HalfUnit(std::log(sums[i]));
    EXPECT_NEAR(found_shortly[i], expected, terms + 0x1p-22) << sums[i] << " " << offsets[i];
  }
}

TEST_F(LogOfSumTest, IsCloseBesideASmallResultToo) {
  const std::vector<double> sums = DrawSums(512);
  const std::vector<float> found = LogOf<false, double>(sums, std::vector<double>(sums.size()));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double expected = std::log(sums[i]);
    EXPECT_NEAR(found[i], expected, 0x1p-22 * std::abs(expected)) << sums[i];
  }
}

TEST_F(LogOfSumTest, GivesTheSameBitsOfASumInEitherType) {
  std::vector<double> sums = DrawSums(512);
  for (double& sum : sums) {
    sum = std::abs(std::log(sum)) < 80 ? static_cast<float>(sum) : 1.0;
  }
  const std::vector<double> offsets = DrawOffsets(sums);
  EXPECT_EQ((LogOf<false, float>(sums, offsets)), (LogOf<false, double>(sums, offsets)));
  EXPECT_EQ((LogOf<true, float>(sums, offsets)), (LogOf<true, double>(sums, offsets)));
}

template <typename Found>
void ExpectSpecials(const Found& found) {
  EXPECT_EQ(found[0], -kInfinity);
  EXPECT_EQ(found[1], kInfinity);
  EXPECT_TRUE(std::isnan(found[2]));
  EXPECT_EQ(found[3], 2.5F);
}

TEST_F(LogOfSumTest, OfNothingIsMinusInfinityAndOfNoNumberItself) {
  const std::vector<double> sums = {0.0, kInfinity, std::nan(""), 1.0};
  const std::vector<double> offsets = {0.0, 0.0, 0.0, 2.5};
  ExpectSpecials(LogOf<false, double>(sums, offsets));
  ExpectSpecials(LogOf<true, double>(sums, offsets));
  ExpectSpecials(LogOf<false, float>(sums, offsets));
  ExpectSpecials(LogOf<true, float>(sums, offsets));
}

}  // namespace
}  // namespace kernelwire
