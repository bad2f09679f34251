// The tolerance must let right results pass and, above all, wrong ones fail.
#include "kernels/testing/tolerance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

using ::testing::HasSubstr;

ExpectedOutput Expect(DataType dtype, const Shape& shape, const std::vector<double>& values,
                      Agreement agreement = Agreement::kRounded, std::int64_t row_width = 1) {
  return {true, TensorDesc{dtype, shape}, values, agreement, row_width};
}

/// Whether one element of `actual` agrees where `expected` was wanted, alone in its row.
bool Agrees(DataType dtype, double expected, double actual, Agreement agreement = Agreement::kRounded) {
  return Disagreement(Expect(dtype, {1}, {expected}, agreement), FromDoubles(dtype, {1}, {actual})).empty();
}

TEST(ToleranceFormTest, PresenceTypeShapeAndSizeMustMatch) {
  const HostTensor actual = FromDoubles(DataType::kFp32, {2}, {1, 2});
  EXPECT_EQ(Disagreement(Expect(DataType::kFp32, {2}, {1, 2}), actual), "");
  EXPECT_EQ(Disagreement(ExpectedOutput(), HostTensor()), "");
  EXPECT_EQ(Disagreement(ExpectedOutput(), actual), "expected no output, got one");
  EXPECT_EQ(Disagreement(Expect(DataType::kFp32, {2}, {1, 2}), HostTensor()), "expected an output, got none");
  EXPECT_THAT(Disagreement(Expect(DataType::kFp64, {2}, {1, 2}), actual), HasSubstr("expected FP64 [2], got FP32 [2]"));
  EXPECT_THAT(Disagreement(Expect(DataType::kFp32, {2, 1}, {1, 2}), actual), HasSubstr("expected FP32 [2,1]"));
  EXPECT_THAT(Disagreement(Expect(DataType::kFp32, {2}, {1}), actual), HasSubstr("an oracle of 1 values"));
  HostTensor cut = actual;
  cut.bytes.pop_back();
  EXPECT_THAT(Disagreement(Expect(DataType::kFp32, {2}, {1, 2}), cut), HasSubstr("got 7 bytes"));
}

TEST(ToleranceExactTest, EqualOrNot) {
  for (const DataType dtype : {DataType::kInt32, DataType::kInt64, DataType::kFp16, DataType::kFp32}) {
    EXPECT_TRUE(Agrees(dtype, 5, 5, Agreement::kExact)) << NameOf(dtype);
    EXPECT_FALSE(Agrees(dtype, 5, 6, Agreement::kExact)) << NameOf(dtype);
  }
  EXPECT_TRUE(Agrees(DataType::kFp32, kNan, kNan, Agreement::kExact));
  EXPECT_FALSE(Agrees(DataType::kFp32, kNan, 1, Agreement::kExact));
  EXPECT_FALSE(Agrees(DataType::kFp32, 1, kNan, Agreement::kExact));
  EXPECT_FALSE(Agrees(DataType::kFp32, 1, 1 + 0x1p-23, Agreement::kExact));
}

TEST(ToleranceExactTest, IntegersAreExactWhateverWasAsked) { EXPECT_FALSE(Agrees(DataType::kInt32, 1000000, 1000001)); }

TEST(ToleranceRoundedTest, SpecialValuesMustBeTheSame) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    EXPECT_TRUE(Agrees(dtype, kNan, kNan)) << NameOf(dtype);
    EXPECT_TRUE(Agrees(dtype, -kInfinity, -kInfinity)) << NameOf(dtype);
    EXPECT_FALSE(Agrees(dtype, kNan, 0)) << NameOf(dtype);
    EXPECT_FALSE(Agrees(dtype, 0, kNan)) << NameOf(dtype);
    EXPECT_FALSE(Agrees(dtype, kInfinity, -kInfinity)) << NameOf(dtype);
    EXPECT_FALSE(Agrees(dtype, kInfinity, 1)) << NameOf(dtype);
    EXPECT_FALSE(Agrees(dtype, 1, kInfinity)) << NameOf(dtype);
    EXPECT_FALSE(Agrees(dtype, kInfinity, kNan)) << NameOf(dtype);
    EXPECT_TRUE(Agrees(dtype, 0, -0.0)) << NameOf(dtype);
  }
}

TEST(ToleranceRoundedTest, SixteenBitResultsMayBeOneUlpOffAndNotTwo) {
  struct Type {
    DataType dtype;
    double ulp_of_one;
  };
  for (const Type type : {Type{DataType::kFp16, 0x1p-10}, Type{DataType::kBf16, 0x1p-7}}) {
    const double expected = 1.0 + 8 * type.ulp_of_one;
    for (const double ulps : {-1.0, 0.0, 1.0}) {
      EXPECT_TRUE(Agrees(type.dtype, expected, expected + ulps * type.ulp_of_one)) << NameOf(type.dtype) << ulps;
    }
    for (const double ulps : {-2.0, 2.0}) {
      EXPECT_FALSE(Agrees(type.dtype, expected, expected + ulps * type.ulp_of_one)) << NameOf(type.dtype) << ulps;
    }
    EXPECT_FALSE(Agrees(type.dtype, expected, -expected)) << NameOf(type.dtype);
    EXPECT_FALSE(Agrees(type.dtype, expected, 0)) << NameOf(type.dtype);
  }
}

TEST(ToleranceRoundedTest, SubnormalsHaveTheirOwnUlp) {
  EXPECT_TRUE(Agrees(DataType::kFp16, 4 * 0x1p-24, 5 * 0x1p-24));
  EXPECT_FALSE(Agrees(DataType::kFp16, 4 * 0x1p-24, 6 * 0x1p-24));
  EXPECT_FALSE(Agrees(DataType::kFp16, 4 * 0x1p-24, 0)) << "flushed to zero";
  EXPECT_FALSE(Agrees(DataType::kFp32, 1e-40, 0)) << "flushed to zero";
}

TEST(ToleranceRoundedTest, ARowsLargestMagnitudeWidensTheBoundOfThatRowOnly) {
  // 2^-21 of 1024 is 2^-11; next to it, and only there, a zero may come out as up to that (plus one smallest ulp).
  const std::vector<double> expected{1024, 0, 1, 0};
  const HostTensor beside = FromDoubles(DataType::kFp16, {2, 2}, {1024, 0x1p-11, 1, 0});
  const HostTensor elsewhere = FromDoubles(DataType::kFp16, {2, 2}, {1024, 0, 1, 0x1p-11});
  const HostTensor too_far = FromDoubles(DataType::kFp16, {2, 2}, {1024, 0x1p-10, 1, 0});
  const ExpectedOutput rows_of_two = Expect(DataType::kFp16, {2, 2}, expected, Agreement::kRounded, 2);
  EXPECT_EQ(Disagreement(rows_of_two, beside), "");
  EXPECT_THAT(Disagreement(rows_of_two, elsewhere),
              HasSubstr("element 3 of FP16 [2,2]: expected 0, got 0.00048828125"));
  EXPECT_THAT(Disagreement(rows_of_two, too_far), HasSubstr("element 1 of"));
}

TEST(ToleranceRoundedTest, WidestTypesByRelativeBounds) {
  EXPECT_TRUE(Agrees(DataType::kFp32, 1.0, 1.0 + 7.5e-6));  // 4e-6 of |y| and of the row's largest, here the same
  EXPECT_FALSE(Agrees(DataType::kFp32, 1.0, 1.0 + 8.5e-6));
  EXPECT_FALSE(Agrees(DataType::kFp32, 1.0, 1.0 - 8.5e-6));
  EXPECT_TRUE(Agrees(DataType::kFp64, 1.0, 1.0 + 1.9e-13));
  EXPECT_FALSE(Agrees(DataType::kFp64, 1.0, 1.0 + 2.1e-13));
  EXPECT_TRUE(Agrees(DataType::kFp32, 0x1p-149, 2 * 0x1p-149)) << "one subnormal step";
  EXPECT_FALSE(Agrees(DataType::kFp32, 0x1p-149, 3 * 0x1p-149));
}

TEST(ToleranceRoundedTest, InfinityOnlyWhereTheBoundReachesIt) {
  EXPECT_TRUE(Agrees(DataType::kFp16, 65519.99, 65504)) << "the nearest value";
  EXPECT_TRUE(Agrees(DataType::kFp16, 65519.99, kInfinity)) << "an error of 1e-7 crosses the end of the range";
  EXPECT_TRUE(Agrees(DataType::kFp16, 65520.01, 65504)) << "the same, back";
  EXPECT_FALSE(Agrees(DataType::kFp16, 70000, 65504));
  EXPECT_FALSE(Agrees(DataType::kFp16, 65440, kInfinity));
  EXPECT_FALSE(Agrees(DataType::kFp16, 65519.99, -kInfinity));
  EXPECT_TRUE(Agrees(DataType::kFp32, 1e39, kInfinity)) << "the nearest value";
  EXPECT_FALSE(Agrees(DataType::kFp32, 1e39, 3e38));
}

TEST(ToleranceRoundedTest, NineteenInTwentySixteenBitElementsMustBeTheNearestValue) {
  constexpr std::int64_t kCount = 1000;
  const HostTensor right = MakeTensor(DataType::kFp16, {kCount}, Values::kNormal, 11);
  const ExpectedOutput expected = Expect(DataType::kFp16, {kCount}, ToDoubles(right));
  const auto with_ulps_off = [&](std::size_t count) {
    HostTensor tensor = right;
    for (std::size_t i = 0; i < count; ++i) {
      // The lowest bit of the pattern: one ulp, which each single element is allowed.
      tensor.bytes[2 * i] ^= std::byte{1};
    }
    return tensor;
  };
  EXPECT_EQ(Disagreement(expected, with_ulps_off(0)), "");
  EXPECT_EQ(Disagreement(expected, with_ulps_off(50)), "");
  EXPECT_THAT(Disagreement(expected, with_ulps_off(51)), HasSubstr("949 of 1000 elements of FP16 [1000]"));
}

TEST(ToleranceRoundedTest, AWrongRoundingModeFails) {
  // Truncation instead of rounding to nearest: each element is within 1 ulp, and the share gives it away.
  constexpr std::int64_t kCount = 4096;
  const std::vector<double> values = ToDoubles(MakeTensor(DataType::kFp32, {kCount}, Values::kNormal, 5));
  HostTensor truncated = FromDoubles(DataType::kBf16, {kCount}, values);
  const HostTensor wide = FromDoubles(DataType::kFp32, {kCount}, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    truncated.bytes[2 * i] = wide.bytes[4 * i + 2];
    truncated.bytes[2 * i + 1] = wide.bytes[4 * i + 3];
  }
  EXPECT_THAT(Disagreement(Expect(DataType::kBf16, {kCount}, values), truncated), HasSubstr("nearest value"));
}

/// One sum of `expected`, of elements whose magnitudes add up to `magnitude`.
bool SumAgrees(DataType dtype, double expected, double magnitude, double actual) {
  ExpectedOutput sum = Expect(dtype, {1}, {expected}, Agreement::kSummed);
  sum.magnitudes = {magnitude};
  return Disagreement(sum, FromDoubles(dtype, {1}, {actual})).empty();
}

TEST(ToleranceSummedTest, BoundsFollowWhatWasAddedUp) {
  EXPECT_TRUE(SumAgrees(DataType::kFp32, 0.0, 1000.0, 9e-4));
  EXPECT_FALSE(SumAgrees(DataType::kFp32, 0.0, 1000.0, 11e-4));
  EXPECT_FALSE(SumAgrees(DataType::kFp32, 1000.0, 1.0, 1000.0 + 1e-3)) << "the result itself widens nothing";
  EXPECT_TRUE(SumAgrees(DataType::kFp64, 0.0, 1000.0, 9e-12));
  EXPECT_FALSE(SumAgrees(DataType::kFp64, 0.0, 1000.0, 11e-12));
  EXPECT_TRUE(SumAgrees(DataType::kFp16, 1.0, 1.0, 1.0 + 0x1p-10));
  EXPECT_FALSE(SumAgrees(DataType::kFp16, 1.0, 1.0, 1.0 + 0x1p-9));
  EXPECT_TRUE(SumAgrees(DataType::kFp16, 1.0, 4096.0, 1.0 + 0x1p-9)) << "2^-21 of 4096 is another 2^-9";
}

TEST(ToleranceSummedTest, AnOracleWithoutMagnitudesIsNoOracle) {
  const ExpectedOutput sum = Expect(DataType::kFp32, {1}, {1.0}, Agreement::kSummed);
  EXPECT_THAT(Disagreement(sum, FromDoubles(DataType::kFp32, {1}, {1.0})), HasSubstr("0 magnitudes"));
}

TEST(ToleranceRoundedTest, AMissingTermOfASumFails) {
  // A row of 4096 ones whose sum lost one element: 2.4e-4, far beyond the bound.
  EXPECT_FALSE(Agrees(DataType::kFp32, 4096, 4095));
  // In FP16 the ulp of 4096 is 4: one lost one of them cannot be seen, two lost fours can.
  EXPECT_FALSE(Agrees(DataType::kFp16, 4096, 4084));
}

}  // namespace
}  // namespace kernelwire::testing
