#include "kernels/core/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"

namespace kernelwire {
namespace {

using ::testing::HasSubstr;

/// Reports in the plan what a plan function gets to see.
absl::StatusOr<Plan> EchoPlan(const PlanRequest& request) {
  Plan plan;
  plan.rows = request.wanted_outputs;
  plan.extents[0] = request.attributes->GetInt("axis").value_or(-1);
  plan.key.Append(7);
  return plan;
}

Operator TestOperator(const std::string& name = "echo") {
  Operator op;
  op.spec.name = name;
  op.spec.inputs = {{"x", kFloats, DataType::kFp32, {-1}, false, ""},
                    {"weight", DataTypeSet{DataType::kFp32}, DataType::kFp32, {-1}, true, ""}};
  op.spec.outputs = {{"y", kFloats, DataType::kFp32, {-1}, false, ""},
                     {"mean", kFloats, DataType::kFp32, {-1}, true, ""}};
  op.spec.attributes = {{"axis", AttributeKind::kInt, "", "-1"}};
  op.plan = EchoPlan;
  return op;
}

PlanRequest RequestOf(DataType dtype, const Shape& shape) {
  PlanRequest request;
  request.inputs[0] = TensorDesc{dtype, shape};
  return request;
}

void ExpectRefused(const PlanRequest& request, const std::string& message) {
  const absl::StatusOr<Plan> plan = PlanRequestFor(TestOperator(), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr(message));
}

TEST(PlanRequestForTest, NamesTheInputTheTypesAndWhatCame) {
  ExpectRefused(RequestOf(DataType::kInt8, {2}), "input 'x': expected FP16, BF16, FP32 or FP64, got INT8");
  ExpectRefused(RequestOf(DataType::kInvalid, {2}), "input 'x': expected FP16, BF16, FP32 or FP64, got INVALID");
  PlanRequest request = RequestOf(DataType::kFp16, {2});
  request.inputs[1] = TensorDesc{DataType::kFp16, {2}};
  ExpectRefused(request, "input 'weight': expected FP32, got FP16");
}

TEST(PlanRequestForTest, MissingInputsAreRefusedUnlessOptional) {
  ExpectRefused(PlanRequest(), "input 'x': required");
  EXPECT_TRUE(PlanRequestFor(TestOperator(), RequestOf(DataType::kFp16, {2})).ok());
}

TEST(PlanRequestForTest, InputsBeyondTheSpecAreRefused) {
  PlanRequest request = RequestOf(DataType::kFp16, {2});
  request.inputs[2] = TensorDesc{DataType::kFp16, {2}};
  ExpectRefused(request, "operator 'echo': expected at most 2 inputs");
}

TEST(PlanRequestForTest, UncountableShapesAreRefusedByInput) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  ExpectRefused(RequestOf(DataType::kFp16, {2, -1}), "input 'x': expected extents of at least 0, got shape [2,-1]");
  ExpectRefused(RequestOf(DataType::kFp16, {kMax, 2}), "input 'x': expected a shape whose bytes");
  ExpectRefused(RequestOf(DataType::kFp16, {kMax}), "input 'x': expected a shape whose bytes");
  ExpectRefused(RequestOf(DataType::kFp16, {0, kMax, 2}), "input 'x': expected a shape whose bytes");
  constexpr auto kMost = static_cast<std::int64_t>(kLargestTensorBytes / 2);
  EXPECT_TRUE(PlanRequestFor(TestOperator(), RequestOf(DataType::kFp16, {kMost})).ok());
  ExpectRefused(RequestOf(DataType::kFp16, {kMost + 1}), "input 'x': expected a shape whose bytes are at most 2^56");
}

TEST(PlanOutputTest, OutputsHaveBytesThatCanBeCountedAndAddedUp) {
  constexpr auto kMost = static_cast<std::int64_t>(kLargestTensorBytes / 4);
  const absl::StatusOr<OutputPlan> most = PlanOutput("y", {DataType::kFp32, {kMost}});
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_TRUE(most->wanted);
  EXPECT_EQ(most->bytes, kLargestTensorBytes);
  for (const Shape& shape : {Shape{kMost + 1}, Shape{kMost, kMost}}) {
    const absl::Status status = PlanOutput("y", {DataType::kFp32, shape}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              absl::StrCat("output 'y': expected a shape whose bytes are at most 2^56, got FP32 ", shape.ToString()));
  }
}

TEST(PlanRequestForTest, WithoutListedOutputsTheDefaultsAreWanted) {
  PlanRequest request = RequestOf(DataType::kFp16, {2});
  EXPECT_EQ(PlanRequestFor(TestOperator(), request)->rows, 0b01);
  request.wanted_outputs = 0b10;
  EXPECT_EQ(PlanRequestFor(TestOperator(), request)->rows, 0b10);
  request.wanted_outputs = 0b100;
  ExpectRefused(request, "operator 'echo': expected outputs among its 2");
}

TEST(PlanRequestForTest, PassesAttributesAndNeverANullPointer) {
  PlanRequest request = RequestOf(DataType::kFp16, {2});
  EXPECT_EQ(PlanRequestFor(TestOperator(), request)->extents[0], -1);
  const Attributes attributes = Attributes::Parse(TestOperator().spec.attributes, {{"axis", std::int64_t{3}}}).value();
  request.attributes = &attributes;
  EXPECT_EQ(PlanRequestFor(TestOperator(), request)->extents[0], 3);
}

TEST(PlanRequestForTest, UnlikeOperatorsNeverShareAKey) {
  const PlanRequest request = RequestOf(DataType::kFp16, {2});
  EXPECT_EQ(PlanRequestFor(TestOperator("a"), request)->key, PlanRequestFor(TestOperator("a"), request)->key);
  EXPECT_FALSE(PlanRequestFor(TestOperator("a"), request)->key == PlanRequestFor(TestOperator("b"), request)->key);
}

TEST(InlineExecutorTest, RunsEverythingOnceAndNothingForNothing) {
  InlineExecutor executor;
  std::vector<int> visits(10, 0);
  const auto visit = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ++visits[static_cast<std::size_t>(i)];
    }
  };
  executor.ParallelFor(10, 3, visit);
  EXPECT_EQ(visits, std::vector<int>(10, 1));
  executor.ParallelFor(0, 1, [](std::int64_t, std::int64_t) { FAIL() << "called for nothing"; });
}

TEST(OperatorSpecTest, FindsTensorsByName) {
  const OperatorSpec spec = TestOperator().spec;
  EXPECT_EQ(spec.InputIndex("weight"), 1);
  EXPECT_EQ(spec.InputIndex("y"), -1);
  EXPECT_EQ(spec.OutputIndex("mean"), 1);
  EXPECT_EQ(spec.OutputIndex(""), -1);
}

}  // namespace
}  // namespace kernelwire
