// What is particular to add_rms_norm: it is rms_norm of a rounded sum, bit for bit, wherever its outputs lie and
// whichever of them are asked for. Agreement with the oracle is the battery's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/launch_image.h"
#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing::add_rms_norm {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::uint32_t kYOnly = 1;
constexpr std::uint32_t kResidualOnly = 2;

const Operator& AddRmsNorm() { return *FindOperator("add_rms_norm"); }

std::string ErrorOf(const OperatorCase& test_case) {
  const absl::Status status = PlanCase(AddRmsNorm(), test_case).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(AddRmsNormPlanTest, BothOutputsAreMadeUnlessListed) {
  const OperatorCase both =
      NormCase("case", {NormalTensor(DataType::kFp16, {4, 8}), NormalTensor(DataType::kFp16, {4, 8}), {}},
               {{"output_type", std::string("FP32")}});
  const Plan plan = PlanCase(AddRmsNorm(), both).value()->plan;
  EXPECT_EQ(plan.rows, 4);
  EXPECT_EQ(plan.outputs[0].desc.dtype, DataType::kFp32);
  EXPECT_EQ(plan.outputs[1].desc.dtype, DataType::kFp16);
  OperatorCase one = both;
  one.wanted_outputs = kResidualOnly;
  const Plan alone = PlanCase(AddRmsNorm(), one).value()->plan;
  EXPECT_FALSE(alone.outputs[0].wanted);
  EXPECT_TRUE(alone.key == plan.key);
}

TEST(AddRmsNormPlanTest, ErrorsSayWhatWasExpectedAndWhatCame) {
  const HostTensor a = NormalTensor(DataType::kFp16, {4, 8});
  EXPECT_THAT(ErrorOf(NormCase("case", {a, NormalTensor(DataType::kFp32, {4, 8}), {}})),
              HasSubstr("input 'b': expected type and shape of a, FP16 [4,8], got FP32 [4,8]"));
  EXPECT_THAT(ErrorOf(NormCase("case", {a, NormalTensor(DataType::kFp16, {8}), {}})), HasSubstr("got FP16 [8]"));
  EXPECT_THAT(ErrorOf(NormCase("case", {a, a, NormalTensor(DataType::kFp16, {4})})), HasSubstr("input 'weight'"));
}

class AddRmsNormTest : public ::testing::TestWithParam<DeviceRunner*> {
 protected:
  static std::vector<HostTensor> Run(const OperatorCase& test_case) {
    return GetParam()->Run(AddRmsNorm(), test_case).value();
  }
};

INSTANTIATE_TEST_SUITE_P(, AddRmsNormTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(AddRmsNormTest, IsRmsNormOfTheRoundedSumBitForBit) {
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    for (const std::int64_t width :
         WidthsFor(*GetParam(), {1, 6, 100, 768, 1001, 4096, 9000, 40001, 140000}, {532481})) {
      for (const char* const output_type : {"", "FP32", "FP64"}) {
        const Shape shape{width > 5000 ? 1 : 3, width};
        AttributeList attributes;
        if (*output_type != 0) {
          attributes = {{"output_type", std::string(output_type)}};
        }
        const HostTensor weight = NormalTensor(DataType::kFp32, {width}, 3);
        const std::vector<HostTensor> fused =
            Run(NormCase("fused", {NormalTensor(dtype, shape, 1), NormalTensor(dtype, shape, 2), weight}, attributes));
        const OperatorCase composed = NormCase("composed", {fused[1], weight}, attributes);
        const auto y = GetParam()->Run(*FindOperator("rms_norm"), composed);
        ASSERT_TRUE(y.ok()) << y.status();
        EXPECT_TRUE(fused[0].bytes == y->front().bytes) << NameOf(dtype) << " to " << output_type << ", " << width;
      }
    }
  }
}

TEST_P(AddRmsNormTest, OutputsDoNotDependOnEachOther) {
  for (const DataType dtype : {DataType::kBf16, DataType::kFp32}) {
    for (const std::int64_t width : WidthsFor(*GetParam(), {100, 4096, 40001, 70001}, {532481})) {
      OperatorCase both =
          NormCase("case", {NormalTensor(dtype, {2, width}, 1), NormalTensor(dtype, {2, width}, 2), {}});
      const std::vector<HostTensor> expected = Run(both);
      both.wanted_outputs = kYOnly;
      EXPECT_TRUE(Run(both)[0].bytes == expected[0].bytes) << NameOf(dtype) << ", " << width;
      both.wanted_outputs = kResidualOnly;
      EXPECT_TRUE(Run(both)[1].bytes == expected[1].bytes) << NameOf(dtype) << ", " << width;
    }
  }
}

/// The ways in which callers reuse memory: y where b is and residual where a is, and one of the two without the other.
TEST_P(AddRmsNormTest, OutputsMayLieWhereEitherInputDoes) {
  for (const DataType dtype : {DataType::kBf16, DataType::kFp32}) {
    for (const std::int64_t width : WidthsFor(*GetParam(), {100, 2500, 40001, 70001}, {532481})) {
      const OperatorCase apart =
          NormCase("case", {NormalTensor(dtype, {2, width}, 1), NormalTensor(dtype, {2, width}, 2), {}});
      const std::vector<HostTensor> expected = Run(apart);
      struct Reuse {
        int y;
        int residual;
        std::uint32_t outputs;
      };
      for (const Reuse reuse : {Reuse{1, 0, 3}, Reuse{0, -1, 3}, Reuse{1, -1, 3}, Reuse{-1, 0, 3}, Reuse{-1, 1, 3},
                                Reuse{0, -1, kYOnly}, Reuse{1, -1, kYOnly}, Reuse{-1, 1, kResidualOnly}}) {
        OperatorCase in_place = apart;
        in_place.wanted_outputs = reuse.outputs;
        in_place.layout.output_in_input[0] = reuse.y;
        in_place.layout.output_in_input[1] = reuse.residual;
        const std::vector<HostTensor> outputs = Run(in_place);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          EXPECT_TRUE(!outputs[i].present() || outputs[i].bytes == expected[i].bytes)
              << NameOf(dtype) << ", " << width << ", y in " << reuse.y << ", residual in " << reuse.residual
              << ", output " << i;
        }
      }
    }
  }
}

/// Rows that begin off a boundary are summed, and residual is written, as they lie in memory, if all but y begin alike,
/// and residual takes no other's place; so are long odd ones. Rows whose squares leave f32 are read again after that.
TEST_P(AddRmsNormTest, WhereRowsBeginAndLieChangesNoBit) {
  for (const DataType dtype : {DataType::kBf16, DataType::kFp16, DataType::kFp32}) {
    const std::size_t element = SizeOf(dtype);
    for (const std::int64_t width :
         WidthsFor(*GetParam(), {256, 1032, 2560, 4096}, {20001, 40001, 65535, 70000, 140000, 262144})) {
      for (const bool huge : {false, true}) {
        const Shape shape{3, width};
        const HostTensor a =
            huge ? FilledTensor(dtype, shape, dtype == DataType::kFp16 ? 3e4 : 1e30) : NormalTensor(dtype, shape, 1);
        const OperatorCase apart =
            NormCase("case", {a, NormalTensor(dtype, shape, 2), NormalTensor(dtype, {width}, 3)});
        const std::vector<HostTensor> expected = Run(apart);
        struct Place {
          std::size_t a;  // elements from a boundary
          std::size_t b;
          std::size_t residual;
          int y_in;
          int residual_in;
        };
        for (const Place place :
             {Place{1, 1, 1, -1, -1}, Place{3, 3, 3, 0, 1}, Place{3, 3, 3, 1, 0}, Place{1, 1, 1, -1, 1},
              Place{1, 2, 1, -1, -1}, Place{1, 1, 0, -1, -1}, Place{0, 0, 0, 0, 1}}) {
          OperatorCase placed = apart;
          placed.layout.input_offsets[0] = place.a * element;
          placed.layout.input_offsets[1] = place.b * element;
          placed.layout.output_offsets[0] = (place.y_in < 0 ? 1 : place.y_in == 0 ? place.a : place.b) * element;
          placed.layout.output_offsets[1] = place.residual * element;
          placed.layout.output_in_input[0] = place.y_in;
          placed.layout.output_in_input[1] = place.residual_in;
          const std::vector<HostTensor> outputs = Run(placed);
          for (std::size_t i = 0; i < outputs.size(); ++i) {
            EXPECT_TRUE(outputs[i].bytes == expected[i].bytes)
                << NameOf(dtype) << (huge ? ", huge, " : ", ") << width << ", a, b and residual at " << place.a << ", "
                << place.b << " and " << place.residual << ", y in " << place.y_in << ", residual in "
                << place.residual_in << ", output " << i;
          }
        }
      }
    }
  }
}

/// Statistics are those of the rounded sum: 1 + 2^-9 is 1 in BF16, and so is y.
TEST_P(AddRmsNormTest, StatisticsAreOfTheRoundedSum) {
  const OperatorCase test_case = NormCase(
      "case", {FilledTensor(DataType::kBf16, {1, 64}, 1.0), FilledTensor(DataType::kBf16, {1, 64}, 0x1p-9), {}},
      {{"epsilon", 0.0}, {"output_type", std::string("FP32")}});
  const std::vector<HostTensor> outputs = Run(test_case);
  EXPECT_THAT(ToDoubles(outputs[0]), Each(1.0));
  EXPECT_THAT(ToDoubles(outputs[1]), Each(1.0));
}

/// Rows whose squares leave f32 are computed again, after residual has taken the place of b.
TEST_P(AddRmsNormTest, HugeRowsInPlace) {
  for (const std::int64_t width : WidthsFor(*GetParam(), {64, 2500, 70000}, {270001})) {
    OperatorCase test_case = NormCase(
        "case", {FilledTensor(DataType::kFp32, {1, width}, 1e30), FilledTensor(DataType::kFp32, {1, width}, 2e30), {}});
    test_case.layout.output_in_input[0] = 0;
    test_case.layout.output_in_input[1] = 1;
    EXPECT_THAT(ToDoubles(Run(test_case)[0]), Each(1.0)) << width;
  }
}

}  // namespace
}  // namespace kernelwire::testing::add_rms_norm
