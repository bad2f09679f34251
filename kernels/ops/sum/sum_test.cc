// What is particular to sum, and what all reductions plan alike. Agreement with the oracle is the battery's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing::sum {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Operator& SumOp() { return *FindOperator("sum"); }

HostTensor Normal(DataType dtype, const Shape& shape) { return MakeTensor(dtype, shape, Values::kNormal, 7); }

Plan PlanOf(const OperatorCase& test_case) { return PlanCase(SumOp(), test_case).value()->plan; }

std::string ErrorOf(const OperatorCase& test_case) {
  const absl::Status status = PlanCase(SumOp(), test_case).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(SumPlanTest, ShapesFollowAxesAndKeepdims) {
  const HostTensor x = Normal(DataType::kFp32, {2, 3, 4});
  const auto shape = [&](AttributeList attributes) {
    return PlanOf(ReductionOf(x, std::move(attributes))).outputs[0].desc.shape.ToString();
  };
  EXPECT_EQ(shape({}), "[]");
  EXPECT_EQ(shape({{"axes", std::string()}}), "[]");
  EXPECT_EQ(shape(Axes("1")), "[2,4]");
  EXPECT_EQ(shape(Axes("-1,0")), "[3]");
  EXPECT_EQ(shape({{"keepdims", true}}), "[1,1,1]");
  EXPECT_EQ(shape({{"axes", std::int64_t{-2}}, {"keepdims", true}}), "[2,1,4]");
}

TEST(SumPlanTest, TypesFollowTheContract) {
  const auto type = [](DataType x, AttributeList attributes = {}) {
    return std::string(NameOf(PlanOf(ReductionOf(Normal(x, {4}), std::move(attributes))).outputs[0].desc.dtype));
  };
  EXPECT_EQ(type(DataType::kFp16), "FP16");
  EXPECT_EQ(type(DataType::kFp8E4m3), "FP32");
  EXPECT_EQ(type(DataType::kInt8), "INT32");
  EXPECT_EQ(type(DataType::kUint8), "INT32");
  EXPECT_EQ(type(DataType::kInt32), "INT64");
  EXPECT_EQ(type(DataType::kInt8, {{"accumulator", std::string("INT64")}}), "INT64");
  EXPECT_EQ(type(DataType::kInt64, {{"output_type", std::string("BF16")}}), "BF16");
}

TEST(SumPlanTest, RowCountsShareALaunchAndEqualLayoutsToo) {
  const BatchKey key = PlanOf(ReductionOf(Normal(DataType::kFp16, {4, 6, 5}), Axes("1"))).key;
  EXPECT_TRUE(key == PlanOf(ReductionOf(Normal(DataType::kFp16, {9, 6, 5}), Axes("1"))).key);
  EXPECT_TRUE(key == PlanOf(ReductionOf(Normal(DataType::kFp16, {2, 2, 2, 3, 1, 5}), Axes("2,3"))).key);
  EXPECT_TRUE(
      key ==
      PlanOf(ReductionOf(Normal(DataType::kFp16, {6, 5}), {{"axes", std::string("0")}, {"keepdims", true}})).key);
  EXPECT_FALSE(key == PlanOf(ReductionOf(Normal(DataType::kFp16, {4, 5, 6}), Axes("1"))).key);
  EXPECT_FALSE(key == PlanOf(ReductionOf(Normal(DataType::kFp16, {4, 30}), Axes("1"))).key);
  EXPECT_FALSE(key == PlanOf(ReductionOf(Normal(DataType::kBf16, {4, 6, 5}), Axes("1"))).key);
  EXPECT_FALSE(key == PlanOf(ReductionOf(Normal(DataType::kFp16, {4, 6, 5}),
                                         {{"axes", std::string("1")}, {"accumulator", std::string("FP64")}}))
                          .key);
}

TEST(SumPlanTest, ARequestMayBeCutBetweenPieces) {
  const Plan plan = PlanOf(ReductionOf(Normal(DataType::kFp16, {4, 6, 5}), Axes("1")));
  EXPECT_EQ(plan.rows, 4);
  EXPECT_EQ(plan.input_row_bytes[0], 60);
  EXPECT_EQ(plan.outputs[0].row_bytes, 10);
  EXPECT_EQ(PlanOf(ReductionOf(Normal(DataType::kFp16, {4, 6, 5}))).rows, 1);
}

TEST(SumPlanTest, OnlyWhatMayOverflowIsChecked) {
  const auto spare = [](DataType x, const Shape& shape, AttributeList attributes = {}) {
    const Plan plan = PlanOf(ReductionOf(MakeTensor(x, shape, Values::kZero, 1), std::move(attributes)));
    return plan.outputs[0].bytes - *plan.outputs[0].desc.ByteSize();
  };
  EXPECT_EQ(spare(DataType::kInt8, {3, 1000}, Axes("1")), 0u) << "a thousand of them fit 32 bits";
  EXPECT_EQ(spare(DataType::kInt32, {3, 1000}, Axes("1")), 0u);
  EXPECT_EQ(spare(DataType::kInt64, {3, 1000}, Axes("1")), 3u);
  EXPECT_EQ(spare(DataType::kInt64, {3, 1}, Axes("1")), 0u);
  EXPECT_EQ(spare(DataType::kInt32, {3, 2}, {{"axes", std::string("1")}, {"output_type", std::string("INT32")}}), 3u);
}

TEST(SumPlanTest, ErrorsSayWhatWasExpectedAndWhatCame) {
  const HostTensor x = Normal(DataType::kFp32, {2, 8});
  EXPECT_THAT(ErrorOf(ReductionOf(x, Axes("2"))), HasSubstr("axes"));
  EXPECT_THAT(ErrorOf(ReductionOf(x, Axes("0,-2"))), HasSubstr("axis 0 twice"));
  EXPECT_THAT(ErrorOf(ReductionOf(x, {{"accumulator", std::string("FP16")}})),
              HasSubstr("'accumulator': expected one of FP32, FP64 for an input of FP32, got FP16"));
  EXPECT_THAT(ErrorOf(ReductionOf(x, {{"output_type", std::string("INT32")}})), HasSubstr("got INT32"));
  EXPECT_THAT(ErrorOf(ReductionOf(Normal(DataType::kInt8, {3}), {{"accumulator", std::string("FP32")}})),
              HasSubstr("INT32, INT64"));
  EXPECT_THAT(ErrorOf(ReductionOf(Normal(DataType::kBool, {3}))), HasSubstr("got BOOL"));
  EXPECT_THAT(ErrorOf(ReductionOf(Normal(DataType::kFp32, {}), Axes("1"))), HasSubstr("axes"));
  EXPECT_THAT(ErrorOf(ReductionOf(x, {{"keepdims", std::int64_t{1}}})), HasSubstr("keepdims"));
}

class SumTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static HostTensor Run(const OperatorCase& test_case) { return GetParam()->Run(SumOp(), test_case).value().front(); }
  static std::vector<double> Values(const OperatorCase& test_case) { return ToDoubles(Run(test_case)); }
  static std::string RangeErrorOf(const OperatorCase& test_case) {
    const absl::Status status = GetParam()->Run(SumOp(), test_case).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    return std::string(status.message());
  }
};

INSTANTIATE_TEST_SUITE_P(, SumTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

HostTensor Int64s(const Shape& shape, const std::vector<std::int64_t>& values) {
  HostTensor tensor{TensorDesc{DataType::kInt64, shape}, {}};
  tensor.bytes.resize(values.size() * sizeof(std::int64_t));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

TEST_P(SumTest, IntegersThatDoNotFitAreRefusedAndNeverWrapped) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(RangeErrorOf(ReductionOf(Int64s({2, 2}, {1, 2, kMax, 1}), Axes("1"))),
              HasSubstr("element 1 does not fit the accumulator INT64, the widest there is"));
  EXPECT_EQ(Run(ReductionOf(Int64s({3}, {kMax, 1, -1}))).bytes, Int64s({1}, {kMax}).bytes)
      << "only the result must fit";
  EXPECT_EQ(Run(ReductionOf(Int64s({2}, {-kMax, -1}))).bytes, Int64s({1}, {-kMax - 1}).bytes);
  const AttributeList in_32{{"axes", std::string("0")}, {"accumulator", std::string("INT32")}};
  const HostTensor ints = FromDoubles(DataType::kInt32, {2, 2}, {2147483647, -2147483648.0, 1, 0});
  EXPECT_THAT(RangeErrorOf(ReductionOf(ints, in_32)), HasSubstr("INT32; ask for accumulator INT64"));
  EXPECT_THAT(Values(ReductionOf(ints, Axes("0"))), ElementsAre(2147483648.0, -2147483648.0));
  EXPECT_THAT(RangeErrorOf(ReductionOf(ints, {{"axes", std::string("0")}, {"output_type", std::string("INT32")}})),
              HasSubstr("its type INT32; ask for output_type INT64"));
  const HostTensor fits = FromDoubles(DataType::kInt32, {2, 2}, {2147483646, -2147483648.0, 1, 0});
  EXPECT_THAT(Values(ReductionOf(fits, in_32)), ElementsAre(2147483647.0, -2147483648.0));
}

/// 2^24 INT8 of -128 come to -2^31, which fits; one more does not.
TEST_P(SumTest, TheEdgeOfInt8) {
  const auto least = [](std::int64_t count) {
    return HostTensor{TensorDesc{DataType::kInt8, {count}},
                      std::vector<std::byte>(static_cast<std::size_t>(count), std::byte{0x80})};
  };
  EXPECT_THAT(RangeErrorOf(ReductionOf(least((1 << 24) + 1))), HasSubstr("ask for accumulator INT64"));
  EXPECT_THAT(Values(ReductionOf(least(1 << 24))), ElementsAre(-2147483648.0));
}

TEST_P(SumTest, SixteenBitAccumulatorsRoundEveryPartialSum) {
  const HostTensor x = FromDoubles(DataType::kFp16, {8}, std::vector<double>(8, 60000.0));
  const auto sum = [&](const char* accumulator) {
    return Values(ReductionOf(x, {{"accumulator", std::string(accumulator)}, {"output_type", std::string("FP32")}}))[0];
  };
  EXPECT_EQ(sum("FP32"), 480000.0);
  EXPECT_EQ(sum("FP16"), std::numeric_limits<double>::infinity());
  EXPECT_NE(sum("BF16"), 480000.0);
  // 256 + 1 is 256 in BF16: seven ones beside it are lost, whoever comes first.
  const HostTensor ones = FromDoubles(DataType::kBf16, {2}, {256, 1});
  EXPECT_THAT(Values(ReductionOf(ones, {{"accumulator", std::string("BF16")}, {"output_type", std::string("FP32")}})),
              ElementsAre(256.0));
}

/// Long rows are shared among blocks in different ways, depending on how many there are.
TEST_P(SumTest, ALongRowsBitsDoNotDependOnTheRowsBesideIt) {
  for (const std::int64_t width : {8200, 33000, 80004}) {
    const HostTensor one = Normal(DataType::kFp32, {1, width});
    HostTensor many{TensorDesc{DataType::kFp32, {280, width}}, {}};
    for (int copy = 0; copy < 280; ++copy) {
      many.bytes.insert(many.bytes.end(), one.bytes.begin(), one.bytes.end());
    }
    const std::vector<double> together = Values(ReductionOf(many, Axes("1")));
    EXPECT_THAT(together, ::testing::Each(Values(ReductionOf(one, Axes("1")))[0])) << width;
  }
}

TEST_P(SumTest, AColumnsBitsDoNotDependOnItsNeighbours) {
  for (const std::int64_t height : {7, 300, 1100}) {
    const std::vector<double> column = ToDoubles(Normal(DataType::kFp32, {height}));
    std::vector<double> sums;
    for (const std::int64_t columns : {2, 3, 64, 300}) {
      std::vector<double> x;
      for (const double value : column) {
        x.insert(x.end(), static_cast<std::size_t>(columns), value);
      }
      const std::vector<double> y = Values(ReductionOf(FromDoubles(DataType::kFp32, {height, columns}, x), Axes("0")));
      sums.insert(sums.end(), y.begin(), y.end());
    }
    EXPECT_THAT(sums, ::testing::Each(sums.front())) << height;
  }
}

/// Tutorials' kernels lose the tail of a length that is no multiple of their block, or need a power of two.
TEST_P(SumTest, NoElementIsLostAtAnyWidth) {
  std::vector<std::int64_t> widths;
  for (std::int64_t width = 1; width < 300; ++width) {
    widths.push_back(width);
  }
  widths.insert(widths.end(), {511, 513, 1023, 2047, 2049, 4095, 8191, 8193, 16385, 32767, 65537});
  for (const std::int64_t width : widths) {
    const std::vector<double> ones(static_cast<std::size_t>(2 * width), 1.0);
    for (const DataType dtype : {DataType::kInt8, DataType::kFp32}) {
      EXPECT_THAT(Values(ReductionOf(FromDoubles(dtype, {2, width}, ones), Axes("1"))),
                  ::testing::Each(static_cast<double>(width)));
      EXPECT_THAT(Values(ReductionOf(FromDoubles(dtype, {width, 2}, ones), Axes("0"))),
                  ::testing::Each(static_cast<double>(width)));
    }
  }
}

/// An integer in FP16, BF16 and FP32 is rounded once, though it goes by way of f64.
TEST_P(SumTest, WideIntegersAreRoundedOnce) {
  // Halfway between two BF16, and one more, which f64 cannot see: up, not to even.
  constexpr std::int64_t kJustAboveHalf = (std::int64_t{257} << 54) + 1;
  const HostTensor y = Run(ReductionOf(Int64s({1}, {kJustAboveHalf}), {{"output_type", std::string("BF16")}}));
  EXPECT_THAT(ToDoubles(y), ElementsAre(std::ldexp(258.0, 54)));
}

/// Columns are stored by vectors. Halfway cases of BF16 and FP16 and their neighbours, of which f32 cannot see how they
/// differ; subnormal results; the ends of the ranges.
TEST_P(SumTest, RealColumnsAreRoundedOnce) {
  std::vector<double> sums = {0.0, -0.0, 1e300, -1e300, std::numeric_limits<double>::infinity()};
  for (const double halfway : {0x1.01p0, 0x1.03p-3, 0x1.002p0, 0x1.006p5, 0x1.ffp127, 0x1.ffep15, 0x1.8p-133, 0x1.8p-24,
                               0x1.01p-126, 0x1.fep-127, 0x1.002p-14, 0x1p-134, 0x1p-25, 0x1p-149}) {
    for (const double sum : {halfway, halfway * (1 + 0x1p-40), halfway * (1 - 0x1p-40)}) {
      sums.insert(sums.end(), {sum, -sum});
    }
  }
  const auto columns = static_cast<std::int64_t>(sums.size());
  std::vector<double> x = sums;
  x.resize(2 * sums.size(), 0.0);
  for (const DataType type : {DataType::kFp16, DataType::kBf16, DataType::kFp32}) {
    const HostTensor y = Run(ReductionOf(FromDoubles(DataType::kFp64, {2, columns}, x),
                                         {{"axes", std::string("0")}, {"output_type", std::string(NameOf(type))}}));
    const std::vector<double> expected = ToDoubles(FromDoubles(type, {columns}, sums));
    EXPECT_THAT(ToDoubles(y), ::testing::ElementsAreArray(expected)) << NameOf(type);
  }
}

/// The largest numbers, a few of one sign and then as many of the other: f32 holds no sum of two.
TEST_P(SumTest, ElementsWhoseSumsLeaveF32AreAddedInF64) {
  for (const std::int64_t width : {4, 12, 64, 256, 1000, 5000, 100000}) {
    for (const std::int64_t runs : {2, 4}) {
      std::vector<double> in_rows, in_columns;
      for (std::int64_t i = 0; i < 3 * width; ++i) {
        in_rows.push_back(i % width / (width / runs) % 2 == 0 ? 3e38 : -3e38);
        in_columns.push_back(i / 3 / (width / runs) % 2 == 0 ? 3e38 : -3e38);
      }
      for (const DataType type : {DataType::kFp32, DataType::kBf16}) {
        SCOPED_TRACE(::testing::Message() << NameOf(type) << ", width " << width << ", runs " << runs);
        const HostTensor rows = FromDoubles(type, {3, width}, in_rows);
        EXPECT_THAT(ToDoubles(Run(ReductionOf(rows, Axes("1")))), ::testing::Each(0.0));
        const HostTensor columns = FromDoubles(type, {width, 3}, in_columns);
        EXPECT_THAT(ToDoubles(Run(ReductionOf(columns, Axes("0")))), ::testing::Each(0.0));
      }
    }
  }
}

TEST_P(SumTest, AHundredRunsGiveTheSameBits) {
  const OperatorCase test_case = ReductionOf(Normal(DataType::kFp32, {3, 50000}), Axes("1"));
  const std::vector<std::byte> first = Run(test_case).bytes;
  for (int run = 0; run < 100; ++run) {
    ASSERT_EQ(Run(test_case).bytes, first) << run;
  }
}

}  // namespace
}  // namespace kernelwire::testing::sum
