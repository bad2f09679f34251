// Sums in two parts, on the device: exact ones, compared with f64 on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {
namespace {

class TwoPartsTest : public testing::DeviceBodyTest {};

/// Of each pair its sum as both functions find it, the larger number first for the one that asks for that.
struct SumOfEach {
  using In = float;
  using Out = float;

  __device__ void operator()(const float* in, float* out) const {
    const float a = in[2 * threadIdx.x];
    const float b = in[2 * threadIdx.x + 1];
    const TwoParts<float> sum = SumInTwo(a, b);
    const TwoParts<float> of_large = fabsf(a) < fabsf(b) ? SumOfLargeInTwo(b, a) : SumOfLargeInTwo(a, b);
    float* const mine = out + 4 * threadIdx.x;
    mine[0] = sum.value;
    mine[1] = sum.rest;
    mine[2] = of_large.value;
    mine[3] = of_large.rest;
  }
};

TEST_F(TwoPartsTest, SumsAreExact) {
  constexpr std::size_t kCount = 512;
  std::vector<float> in(2 * kCount);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  std::uniform_int_distribution<int> power(-12, 12);
  std::generate(in.begin(), in.end(), [&] { return std::ldexp(normal(random_), power(random_)); });
  const auto found = Run(SumOfEach{}, in, 4 * kCount, kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const float a = in[2 * i];
    const float b = in[2 * i + 1];
    for (const std::size_t at : {4 * i, 4 * i + 2}) {
      EXPECT_EQ(found[at], a + b);
      EXPECT_EQ(static_cast<double>(found[at]) + static_cast<double>(found[at + 1]),
                static_cast<double>(a) + static_cast<double>(b))
          << a << " and " << b;
    }
  }
}

}  // namespace
}  // namespace kernelwire
