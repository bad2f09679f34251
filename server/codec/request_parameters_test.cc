#include "server/codec/request_parameters.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/codec/testing/probe_operator.h"

namespace kernelwire {
namespace {

using ::testing::HasSubstr;

inference::InferParameter Bool(bool value) {
  inference::InferParameter parameter;
  parameter.set_bool_param(value);
  return parameter;
}
inference::InferParameter Int(std::int64_t value) {
  inference::InferParameter parameter;
  parameter.set_int64_param(value);
  return parameter;
}
inference::InferParameter Uint(std::uint64_t value) {
  inference::InferParameter parameter;
  parameter.set_uint64_param(value);
  return parameter;
}
inference::InferParameter Double(double value) {
  inference::InferParameter parameter;
  parameter.set_double_param(value);
  return parameter;
}
inference::InferParameter Text(const std::string& value) {
  inference::InferParameter parameter;
  parameter.set_string_param(value);
  return parameter;
}

absl::StatusOr<RequestParameters> Read(const std::string& name, const inference::InferParameter& value) {
  ParameterMap parameters;
  parameters[name] = value;
  return ReadRequestParameters(parameters, testing::ProbeOperator().spec);
}

void ExpectRefused(const std::string& name, const inference::InferParameter& value, const std::string& text) {
  const absl::Status status = Read(name, value).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
}

TEST(RequestParametersTest, NoneGiven) {
  const auto read = ReadRequestParameters({}, testing::ProbeOperator().spec);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->priority, 0u);
  EXPECT_EQ(read->timeout_micros, std::nullopt);
  EXPECT_EQ(read->fp8, std::nullopt);
}

TEST(RequestParametersTest, Priority) {
  EXPECT_EQ(Read("priority", Int(0))->priority, 0u);
  EXPECT_EQ(Read("priority", Int(3))->priority, 3u);
  EXPECT_EQ(Read("priority", Uint(4))->priority, 4u);
  EXPECT_EQ(Read("priority", Uint(~std::uint64_t{0}))->priority, std::numeric_limits<std::uint32_t>::max());
  ExpectRefused("priority", Int(-1), "parameter 'priority': expected an integer of at least 0, got the integer -1");
  ExpectRefused("priority", Text("1"), "got the string '1'");
  ExpectRefused("priority", Double(1), "got the number 1");
}

TEST(RequestParametersTest, Timeout) {
  EXPECT_EQ(Read("timeout", Int(1500))->timeout_micros, 1500);
  EXPECT_EQ(Read("timeout", Uint(1500))->timeout_micros, 1500);
  EXPECT_EQ(Read("timeout", Uint(~std::uint64_t{0}))->timeout_micros, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Read("timeout", Int(0))->timeout_micros, std::nullopt);
  ExpectRefused("timeout", Int(-1),
                "parameter 'timeout': expected an integer of microseconds of at least 0, got the integer -1");
  ExpectRefused("timeout", Bool(true), "got the boolean true");
}

TEST(RequestParametersTest, NamesOfTheProtocolAreIgnoredWhateverTheyHold) {
  for (const char* const name : {"sequence_id", "sequence_start", "sequence_end", "binary_data_output",
                                 "triton_enable_empty_final_response", "triton_"}) {
    for (const auto& value : {Bool(true), Int(7), Uint(7), Double(0.5), Text("seven")}) {
      EXPECT_TRUE(Read(name, value).ok()) << name;
    }
  }
}

TEST(RequestParametersTest, AttributesOfTheOperator) {
  EXPECT_EQ(Read("axis", Int(-2))->attributes.GetInt("axis"), -2);
  EXPECT_EQ(Read("epsilon", Double(0.25))->attributes.GetDouble("epsilon"), 0.25);
  EXPECT_EQ(Read("epsilon", Int(2))->attributes.GetDouble("epsilon"), 2.0);
  EXPECT_EQ(Read("mode", Text("fast"))->attributes.GetString("mode"), "fast");
  EXPECT_EQ(Read("strict", Bool(true))->attributes.GetBool("strict"), true);
  ExpectRefused("axis", Text("0"), "attribute 'axis'");
  ExpectRefused("axis", Uint(1), "parameter 'axis': expected a value as bool_param");
  ExpectRefused("mode", Text(""), "attribute 'mode'");
  ExpectRefused("strict", Int(1), "attribute 'strict'");
  ExpectRefused("eps", Double(1), "unknown attribute 'eps': expected one of axis, epsilon, mode, strict");
  ExpectRefused("headers", Text("1"), "unknown attribute 'headers'");
}

TEST(RequestParametersTest, AValueMustBeThere) {
  for (const char* const name : {"axis", "priority", "timeout", "fp8", "sequence_id", "anything"}) {
    ExpectRefused(name, inference::InferParameter(), "expected a value, got none");
  }
}

TEST(RequestParametersTest, Fp8) {
  EXPECT_EQ(Read("fp8", Text("e4m3"))->fp8, DataType::kFp8E4m3);
  EXPECT_EQ(Read("fp8", Text("e5m2"))->fp8, DataType::kFp8E5m2);
  ExpectRefused("fp8", Text("e4m3fn"),
                "parameter 'fp8': expected the string 'e4m3' or 'e5m2', got the string 'e4m3fn'");
  ExpectRefused("fp8", Bool(true), "got the boolean true");
  ParameterMap own;
  own["fp8"] = Int(8);
  EXPECT_EQ(ReadInputParameters("x", own).status().message(),
            "input 'x': parameter 'fp8': expected the string 'e4m3' or 'e5m2', got the integer 8");
}

}  // namespace
}  // namespace kernelwire
