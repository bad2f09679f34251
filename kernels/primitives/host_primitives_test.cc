// What host kernels are built from, by itself, for every instruction set that this processor has: vectors with ends,
// sums, maxima, moments, exponentials, each beside plain arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hwy/targets.h"
#include "kernels/core/float16.h"
#include "kernels/testing/guarded_buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/primitives/host_primitives_test.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_compare-inl.h"
#include "kernels/primitives/reduce_sum-inl.h"
#include "kernels/primitives/row_exp-inl.h"
#include "kernels/primitives/row_moments-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr unsigned kSeed = 20261123;

std::vector<float> RandomFloats(std::size_t count, float mean, float deviation) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

/// Lengths around every boundary that vectors, chains and blocks have.
std::vector<std::int64_t> Lengths() {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 1; length <= 70; ++length) {
    lengths.push_back(length);
  }
  for (std::int64_t near = 128; near <= kBlock; near *= 2) {
    lengths.insert(lengths.end(), {near - 1, near, near + 1, near + 37});
  }
  lengths.erase(std::remove_if(lengths.begin(), lengths.end(), [](std::int64_t length) { return length > kBlock; }),
                lengths.end());
  return lengths;
}

/// The first `count` elements through a vector and back, between guard bands that a test may close.
template <class Elements, class D>
void CheckEnd(D d, std::int64_t count, typename Elements::Value fill) {
  using Stored = typename Elements::Stored;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Stored);
  const kernelwire::testing::GuardedBuffer from(bytes, std::byte{0});
  const kernelwire::testing::GuardedBuffer to(bytes, std::byte{0x77});
  for (std::int64_t i = 0; i < count; ++i) {  // 1 to 15 in any of the types
    const Stored value =
        std::is_integral_v<Stored>
            ? static_cast<Stored>(std::is_same_v<Elements, Bf16Elements> ? FloatToBf16(static_cast<float>(i % 15 + 1))
                                                                         : FloatToFp16(static_cast<float>(i % 15 + 1)))
            : static_cast<Stored>(i % 15 + 1);
    std::memcpy(from.data() + static_cast<std::size_t>(i) * sizeof(Stored), &value, sizeof(value));
  }
  from.CloseGuards();
  to.CloseGuards();
  const auto value = Elements::LoadPartial(d, reinterpret_cast<const Stored*>(from.data()), count, fill);
  Elements::StorePartial(value, d, reinterpret_cast<Stored*>(to.data()), count);
  from.OpenGuards();
  to.OpenGuards();
  EXPECT_TRUE(to.GuardsIntact()) << count;
  EXPECT_EQ(std::memcmp(from.data(), to.data(), bytes), 0) << count;
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  hn::Store(value, d, lanes);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    const auto i = static_cast<std::int64_t>(lane);
    EXPECT_EQ(lanes[lane], i < count ? static_cast<typename Elements::Value>(i % 15 + 1) : fill) << count;
  }
}

void EndsOfVectors() {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<double> wide;
  for (std::int64_t count = 1; count < static_cast<std::int64_t>(hn::Lanes(d)); ++count) {
    CheckEnd<SameElements<float>>(d, count, -kInf);
    CheckEnd<Bf16Elements>(d, count, -kInf);
    if (kHasFp16Conversions) {
      CheckEnd<Fp16Elements>(d, count, -kInf);
    }
  }
  for (std::int64_t count = 1; count < static_cast<std::int64_t>(hn::Lanes(wide)); ++count) {
    CheckEnd<SameElements<double>>(wide, count, 0.5);
  }
}

/// Small integers: every sum is exact, so that an element left out or taken twice shows.
void Sums() {
  std::vector<float> x(static_cast<std::size_t>(kBlock));
  std::vector<std::uint16_t> halves(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i * 7 % 61);
    halves[i] = FloatToBf16(x[i]);
  }
  for (const std::int64_t length : Lengths()) {
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
      sum += static_cast<double>(x[i]);
      squares += static_cast<double>(x[i] * x[i]);
    }
    EXPECT_EQ((SumOfFloats<SameElements<float>, Itself>(x.data(), length)), sum) << length;
    EXPECT_EQ((SumOfFloats<SameElements<float>, Squared>(x.data(), length)), squares) << length;
    EXPECT_EQ((SumOfFloats<Bf16Elements, Itself>(halves.data(), length)), sum) << length;
    EXPECT_EQ((SumOfFloats<Bf16Elements, Squared>(halves.data(), length)), squares) << length;
    EXPECT_EQ((SumInF64<SameElements<float>, Itself>(x.data(), length)), sum) << length;
    EXPECT_EQ((SumInF64<SameElements<float>, Squared>(x.data(), length)), squares) << length;
  }
}

template <bool kSmallest>
void ExtremaOf(std::vector<float> x) {
  const auto count = static_cast<std::int64_t>(x.size());
  const auto extremum = [&] { return LargestOfBlock<kSmallest, SameElements<float>>(x.data(), count); };
  const auto first = [&] { return FirstOf<kSmallest, SameElements<float>>(x.data(), count, extremum()); };
  const float worst = kSmallest ? kInf : -kInf;
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = x[static_cast<std::size_t>(i)];
    for (const float best : {kSmallest ? -1e30F : 1e30F, kNan}) {
      const float last = std::exchange(x.back(), best);  // a later equal
      const float kept = std::exchange(value, best);
      EXPECT_TRUE(std::isnan(best) ? std::isnan(extremum()) : extremum() == 1e30F) << count;  // turned
      EXPECT_EQ(first(), i) << count;
      value = kept;
      x.back() = last;
    }
  }
  std::fill(x.begin(), x.end(), worst);
  EXPECT_EQ(extremum(), -kInf) << count;
  EXPECT_EQ(first(), 0) << count;
}

/// The extremum, and a NaN, in every place, with an equal at the end; nothing but the identity.
void Extrema() {
  for (const std::int64_t count : {1, 2, 15, 16, 17, 63, 64, 65, 100, 255, 257}) {
    const std::vector<float> x = RandomFloats(static_cast<std::size_t>(count), 0.0F, 1.0F);
    ExtremaOf<false>(x);
    ExtremaOf<true>(x);
    EXPECT_EQ((MaximumOfElements<SameElements<float>, float>(x.data(), count)), *std::max_element(x.begin(), x.end()));
  }
}

Moments Plain(const std::vector<float>& x) {
  Moments moments;
  moments.count = static_cast<double>(x.size());
  for (const float value : x) {
    moments.mean += static_cast<double>(value) / moments.count;
  }
  for (const float value : x) {
    moments.squares += std::pow(static_cast<double>(value) - moments.mean, 2);
  }
  return moments;
}

Moments OfFloats(const float* x, std::int64_t count) {
  static BlockBuffer<float> unused;
  return MomentsOfBlock<float>(DataType::kFp32, x, count, unused.values, 0);
}

/// A mean far from 0 beside which the deviation is lost to E[x^2] - E[x]^2; a first element that lies far out.
void MomentsOfBlocks() {
  for (const std::int64_t count : Lengths()) {
    const auto length = static_cast<std::size_t>(count);
    for (const auto& [mean, deviation] : {std::pair{0.0F, 1.0F}, {1e4F, 1e-2F}, {-3e5F, 1.0F}}) {
      std::vector<float> x = RandomFloats(length, mean, deviation);
      for (const float first : {x[0], mean + 1000.0F * deviation}) {
        x[0] = first;
        const Moments expected = Plain(x);
        const Moments found = OfFloats(x.data(), count);
        const double spread = std::sqrt(expected.squares / expected.count);
        EXPECT_NEAR(found.mean, expected.mean, 1e-6 * spread + 1e-12 * std::abs(expected.mean));
        EXPECT_NEAR(found.squares, expected.squares, 1e-4 * expected.squares) << length << " of mean " << mean;
      }
    }
    const std::vector<float> equal(length, 12345.678F);
    EXPECT_EQ(OfFloats(equal.data(), count).squares, 0.0);
  }
}

void MomentsThatMeet() {
  const std::vector<float> x = RandomFloats(1500, 1e4F, 1e-2F);
  const Moments whole = Plain(x);
  Moments merged;  // empty
  for (std::size_t begin = 0, length = 1; begin < x.size(); begin += length, length = length * 2 + 1) {
    const std::size_t end = std::min(begin + length, x.size());
    merged = Merge(
        merged, Plain({x.begin() + static_cast<std::ptrdiff_t>(begin), x.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  EXPECT_EQ(merged.count, whole.count);
  EXPECT_NEAR(merged.mean, whole.mean, 1e-12 * whole.mean);
  EXPECT_NEAR(merged.squares, whole.squares, 1e-7 * whole.squares);
}

/// Within an ulp of the nearest, from 1 down to nothing.
void Exponentials() {
  const hn::ScalableTag<float> d;
  const auto lanes = hn::Lanes(d);
  const auto exponential = [&](float x) HWY_ATTR { return hn::GetLane(ExpOf(d, hn::Set(d, x))); };
  EXPECT_EQ(exponential(0.0F), 1.0F);
  EXPECT_EQ(exponential(-kInf), 0.0F);
  EXPECT_EQ(exponential(-200.0F), 0.0F);
  EXPECT_TRUE(std::isnan(exponential(kNan)));
  HWY_ALIGN float found[HWY_MAX_BYTES / sizeof(float)];
  for (int step = 0; step < 110000; step += static_cast<int>(lanes)) {
    const auto x = hn::MulAdd(hn::Iota(d, static_cast<float>(step)), hn::Set(d, -1e-3F), hn::Zero(d));
    HWY_ALIGN float at[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(x, d, at);
    hn::Store(ExpOf(d, x), d, found);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double expected = std::exp(static_cast<double>(at[lane]));
      const auto nearest = static_cast<float>(expected);
      const double ulp = static_cast<double>(std::nextafterf(nearest, kInf)) - static_cast<double>(nearest);
      EXPECT_NEAR(static_cast<double>(found[lane]), expected, 1.01 * ulp) << at[lane];
    }
  }
}

/// Every element once, and exp(-inf) of what is beyond the end.
void SumsOfExponentials() {
  for (const std::int64_t length : Lengths()) {
    const std::vector<float> x = RandomFloats(static_cast<std::size_t>(length), 3.0F, 2.0F);
    const float offset = *std::max_element(x.begin(), x.end());
    double expected = 0.0;
    for (const float value : x) {
      expected += std::exp(static_cast<double>(value) - static_cast<double>(offset));
    }
    std::vector<float> kept(x.size());
    const double found = SumExpOfBlock<float>(DataType::kFp32, x.data(), length, offset, nullptr, nullptr);
    EXPECT_NEAR(found, expected, 1e-6 * expected) << length;
    EXPECT_EQ(SumExpOfBlock<float>(DataType::kFp32, x.data(), length, offset, kept.data(), nullptr), found);
    EXPECT_EQ(*std::max_element(kept.begin(), kept.end()), 1.0F);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(EndsOfVectors);
HWY_EXPORT(Sums);
HWY_EXPORT(Extrema);
HWY_EXPORT(MomentsOfBlocks);
HWY_EXPORT(MomentsThatMeet);
HWY_EXPORT(Exponentials);
HWY_EXPORT(SumsOfExponentials);

class HostPrimitivesTest : public ::testing::TestWithParam<std::int64_t> {  // one of Highway's bits
 protected:
  HostPrimitivesTest() { hwy::SetSupportedTargetsForTest(GetParam()); }
  ~HostPrimitivesTest() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(HostPrimitivesTest, VectorsEndWhereMemoryDoes) { HWY_DYNAMIC_DISPATCH(EndsOfVectors)(); }
TEST_P(HostPrimitivesTest, SumsTakeEveryElementOnce) { HWY_DYNAMIC_DISPATCH(Sums)(); }
TEST_P(HostPrimitivesTest, ExtremaFindAnyPlaceAndAnyNan) { HWY_DYNAMIC_DISPATCH(Extrema)(); }
TEST_P(HostPrimitivesTest, MomentsKeepTheDigitsOfSmallDeviations) { HWY_DYNAMIC_DISPATCH(MomentsOfBlocks)(); }
TEST_P(HostPrimitivesTest, MomentsOfPartsMeet) { HWY_DYNAMIC_DISPATCH(MomentsThatMeet)(); }
TEST_P(HostPrimitivesTest, ExponentialsAreWithinAnUlp) { HWY_DYNAMIC_DISPATCH(Exponentials)(); }
TEST_P(HostPrimitivesTest, SumsOfExponentialsTakeEveryElementOnce) { HWY_DYNAMIC_DISPATCH(SumsOfExponentials)(); }

INSTANTIATE_TEST_SUITE_P(, HostPrimitivesTest, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& suite) { return std::string(hwy::TargetName(suite.param)); });

}  // namespace
}  // namespace kernelwire
#endif  // HWY_ONCE
