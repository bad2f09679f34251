#include "kernels/testing/generators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace kernelwire::testing {
namespace {

constexpr DataType kTypes[] = {DataType::kBool,  DataType::kInt8,    DataType::kUint8,  DataType::kInt32,
                               DataType::kInt64, DataType::kFp16,    DataType::kBf16,   DataType::kFp32,
                               DataType::kFp64,  DataType::kFp8E4m3, DataType::kFp8E5m2};

double RoundTrip(DataType dtype, double value) {
  std::uint64_t storage = 0;
  WriteElement(dtype, &storage, 0, value);
  return ReadElement(dtype, &storage, 0);
}

/// Every pattern of a type of one or two bytes comes back as it was; NaN comes back as NaN.
template <typename Pattern>
void ExpectEveryPatternComesBack(DataType dtype) {
  for (unsigned i = 0; i <= std::numeric_limits<Pattern>::max(); ++i) {
    const auto pattern = static_cast<Pattern>(i);
    const double value = ReadElement(dtype, &pattern, 0);
    Pattern written = 0;
    WriteElement(dtype, &written, 0, value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(ReadElement(dtype, &written, 0))) << NameOf(dtype) << " " << i;
    } else {
      ASSERT_EQ(written, pattern) << NameOf(dtype) << " " << value;
    }
  }
}

TEST(ElementsTest, EveryPatternOfTheNarrowTypesComesBack) {
  ExpectEveryPatternComesBack<std::uint8_t>(DataType::kUint8);
  ExpectEveryPatternComesBack<std::uint8_t>(DataType::kInt8);
  ExpectEveryPatternComesBack<std::uint8_t>(DataType::kFp8E4m3);
  ExpectEveryPatternComesBack<std::uint8_t>(DataType::kFp8E5m2);
  ExpectEveryPatternComesBack<std::uint16_t>(DataType::kFp16);
  ExpectEveryPatternComesBack<std::uint16_t>(DataType::kBf16);
}

TEST(ElementsTest, EveryMidpointOfTheFp8TypesGoesToTheEvenPattern) {
  for (const DataType dtype : {DataType::kFp8E4m3, DataType::kFp8E5m2}) {
    const unsigned last = dtype == DataType::kFp8E4m3 ? 0x7e : 0x7b;  // the largest finite pattern
    for (unsigned lower = 0; lower < last; ++lower) {
      const std::uint8_t patterns[] = {static_cast<std::uint8_t>(lower), static_cast<std::uint8_t>(lower + 1)};
      const double below = ReadElement(dtype, patterns, 0);
      const double above = ReadElement(dtype, patterns, 1);
      const double middle = (below + above) / 2;
      ASSERT_LT(below, above);
      ASSERT_EQ(RoundTrip(dtype, middle), lower % 2 == 0 ? below : above) << NameOf(dtype) << " " << lower;
      ASSERT_EQ(RoundTrip(dtype, std::nextafter(middle, 0.0)), below);
      ASSERT_EQ(RoundTrip(dtype, std::nextafter(middle, above)), above);
      ASSERT_EQ(RoundTrip(dtype, -std::nextafter(middle, above)), -above);
    }
  }
}

TEST(ElementsTest, TheEndsOfTheFp8Types) {
  EXPECT_EQ(RoundTrip(DataType::kFp8E4m3, 448.0), 448.0);
  EXPECT_EQ(RoundTrip(DataType::kFp8E4m3, 464.0), 448.0) << "the midpoint to where 480 would be";
  EXPECT_TRUE(std::isnan(RoundTrip(DataType::kFp8E4m3, 465.0)));
  EXPECT_TRUE(std::isnan(RoundTrip(DataType::kFp8E4m3, -kInfinity)));
  EXPECT_EQ(RoundTrip(DataType::kFp8E4m3, 0x1p-9), 0x1p-9);
  EXPECT_EQ(RoundTrip(DataType::kFp8E5m2, 57344.0), 57344.0);
  EXPECT_EQ(RoundTrip(DataType::kFp8E5m2, 61440.0), kInfinity);
  EXPECT_EQ(RoundTrip(DataType::kFp8E5m2, -kInfinity), -kInfinity);
}

TEST(ElementsTest, IntegersRoundToEvenAndSaturate) {
  EXPECT_EQ(RoundTrip(DataType::kInt8, 2.5), 2.0);
  EXPECT_EQ(RoundTrip(DataType::kInt8, 3.5), 4.0);
  EXPECT_EQ(RoundTrip(DataType::kInt8, 1e9), 127.0);
  EXPECT_EQ(RoundTrip(DataType::kInt8, -kInfinity), -128.0);
  EXPECT_EQ(RoundTrip(DataType::kUint8, 255.6), 255.0);
  EXPECT_EQ(RoundTrip(DataType::kUint8, -1.0), 0.0);
  EXPECT_EQ(RoundTrip(DataType::kInt32, 0x1p31), 2147483647.0);
  EXPECT_EQ(RoundTrip(DataType::kInt32, kNan), 0.0);
  std::int64_t largest = 0;
  WriteElement(DataType::kInt64, &largest, 0, 0x1p63);
  EXPECT_EQ(largest, std::numeric_limits<std::int64_t>::max());
}

TEST(ElementsTest, FloatsOverflowToInfinityAndKeepNan) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
    EXPECT_EQ(RoundTrip(dtype, 1e300), kInfinity) << NameOf(dtype);
    EXPECT_EQ(RoundTrip(dtype, -1e300), -kInfinity) << NameOf(dtype);
    EXPECT_TRUE(std::isnan(RoundTrip(dtype, kNan))) << NameOf(dtype);
  }
  constexpr double kLargestF32 = 0x1.fffffep127;
  EXPECT_EQ(RoundTrip(DataType::kFp32, std::nextafter(0x1.ffffffp127, 0.0)), kLargestF32);
  EXPECT_EQ(RoundTrip(DataType::kFp32, 0x1.ffffffp127), kInfinity);
  EXPECT_EQ(RoundTrip(DataType::kFp64, 1e300), 1e300);
}

TEST(TensorsTest, FromDoublesAndBack) {
  const std::vector<double> values{0.0, 1.0, 1.0, 0.0, 1.0, 1.0};
  for (const DataType dtype : kTypes) {
    const HostTensor tensor = FromDoubles(dtype, {2, 3}, values);
    EXPECT_EQ(tensor.bytes.size(), 6 * SizeOf(dtype)) << NameOf(dtype);
    EXPECT_EQ(ToDoubles(tensor), values) << NameOf(dtype);
  }
  EXPECT_DEATH(FromDoubles(DataType::kFp32, {2, 2}, values), "6 values");
}

TEST(MakeTensorTest, TheSameSeedGivesTheSameBytesAndAnotherSeedOthers) {
  for (const DataType dtype : kTypes) {
    const HostTensor first = MakeTensor(dtype, {100}, Values::kNormal, 1);
    EXPECT_EQ(first.bytes, MakeTensor(dtype, {100}, Values::kNormal, 1).bytes) << NameOf(dtype);
    if (dtype != DataType::kBool) {  // of which a normal number is hardly ever false
      EXPECT_NE(first.bytes, MakeTensor(dtype, {100}, Values::kNormal, 2).bytes) << NameOf(dtype);
    }
  }
}

TEST(MakeTensorTest, TheSameOnEveryMachine) {
  const std::vector<double> values = ToDoubles(MakeTensor(DataType::kFp64, {2}, Values::kUniform, 42));
  // The first two words of SplitMix64 from seed 42, their upper 53 bits as fractions.
  EXPECT_EQ(values[0], static_cast<double>(13679457532755275413u >> 11) * 0x1p-53);
  EXPECT_EQ(values[1], static_cast<double>(2949826092126892291u >> 11) * 0x1p-53);
}

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
  double smallest = kInfinity;
  double largest = -kInfinity;
};

Moments MomentsOf(Values values) {
  constexpr std::int64_t kCount = 100000;
  Moments moments;
  double squares = 0.0;
  for (const double value : ToDoubles(MakeTensor(DataType::kFp64, {kCount}, values, 7))) {
    moments.mean += value / kCount;
    squares += value * value / kCount;
    moments.smallest = std::min(moments.smallest, value);
    moments.largest = std::max(moments.largest, value);
  }
  moments.deviation = std::sqrt(squares - moments.mean * moments.mean);
  return moments;
}

TEST(MakeTensorTest, ValuesLookAsTheirNamesSay) {
  const Moments normal = MomentsOf(Values::kNormal);
  EXPECT_NEAR(normal.mean, 0.0, 0.02);
  EXPECT_NEAR(normal.deviation, 1.0, 0.02);
  const Moments uniform = MomentsOf(Values::kUniform);
  EXPECT_NEAR(uniform.mean, 0.5, 0.01);
  EXPECT_GE(uniform.smallest, 0.0);
  EXPECT_LT(uniform.largest, 1.0);
  EXPECT_GT(MomentsOf(Values::kOutliers).largest, 50.0);
  EXPECT_NEAR(MomentsOf(Values::kLargeMean).mean, 1e4, 0.01);
  EXPECT_EQ(MomentsOf(Values::kConstant).smallest, 3.0);
  EXPECT_EQ(MomentsOf(Values::kZero).largest, 0.0);
}

TEST(MakeTensorTest, TinyValuesHoldSubnormalsAndNormals) {
  struct Type {
    DataType dtype;
    double smallest_normal;
  };
  for (const Type type : {Type{DataType::kFp16, 0x1p-14}, Type{DataType::kBf16, 0x1p-126},
                          Type{DataType::kFp32, 0x1p-126}, Type{DataType::kFp64, 0x1p-1022}}) {
    int subnormal = 0;
    int normal = 0;
    for (const double value : ToDoubles(MakeTensor(type.dtype, {200}, Values::kTiny, 3))) {
      subnormal += value != 0.0 && std::abs(value) < type.smallest_normal ? 1 : 0;
      normal += std::abs(value) >= type.smallest_normal ? 1 : 0;
    }
    EXPECT_GT(subnormal, 20) << NameOf(type.dtype);
    EXPECT_GT(normal, 20) << NameOf(type.dtype);
  }
}

}  // namespace
}  // namespace kernelwire::testing
