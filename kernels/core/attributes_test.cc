#include "kernels/core/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace kernelwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

AttributeSpec SpecOf(const std::string& name, AttributeKind kind) {
  AttributeSpec spec;
  spec.name = name;
  spec.kind = kind;
  return spec;
}

/// One attribute of every kind.
std::vector<AttributeSpec> Specs() {
  std::vector<AttributeSpec> specs{
      SpecOf("rotated", AttributeKind::kBool),     SpecOf("top_k", AttributeKind::kInt),
      SpecOf("epsilon", AttributeKind::kDouble),   SpecOf("sigma", AttributeKind::kDouble),
      SpecOf("algorithm", AttributeKind::kEnum),   SpecOf("accumulator", AttributeKind::kTypeName),
      SpecOf("axes", AttributeKind::kIntList),     SpecOf("scales", AttributeKind::kDoubleList),
      SpecOf("axis", AttributeKind::kIntOrChoice),
  };
  specs[1].min = 1;
  specs[2].min = 0;
  specs[3].min = 0;
  specs[3].min_exclusive = true;
  specs[4].choices = {"auto", "safe", "online"};
  specs[5].choices = {"FP16", "FP32"};
  specs[7].length = 4;
  specs[8].choices = {"all"};
  return specs;
}

absl::StatusOr<Attributes> ParseOne(const std::string& name, const AttributeValue& value) {
  return Attributes::Parse(Specs(), {{name, value}});
}

AttributeValue Int(std::int64_t value) { return value; }
AttributeValue Text(const std::string& value) { return value; }

void ExpectRefused(const std::string& name, const AttributeValue& value, const std::string& expected,
                   const std::string& came) {
  const absl::StatusOr<Attributes> parsed = ParseOne(name, value);
  ASSERT_FALSE(parsed.ok()) << name << " took " << came;
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(parsed.status().message());
  EXPECT_THAT(message, HasSubstr("attribute '" + name + "': expected " + expected));
  EXPECT_THAT(message, HasSubstr("got " + came));
}

TEST(AttributesTest, LeftOutMeansNullopt) {
  const Attributes none = Attributes::Parse(Specs(), {}).value();
  EXPECT_EQ(none.GetBool("rotated"), std::nullopt);
  EXPECT_EQ(none.GetInt("top_k"), std::nullopt);
  EXPECT_EQ(none.GetDouble("epsilon"), std::nullopt);
  EXPECT_EQ(none.GetString("algorithm"), std::nullopt);
  EXPECT_EQ(none.GetIntList("axes"), std::nullopt);
  EXPECT_EQ(none.GetDoubleList("scales"), std::nullopt);
}

TEST(AttributesTest, BooleansAreBooleans) {
  EXPECT_EQ(ParseOne("rotated", true)->GetBool("rotated"), true);
  EXPECT_EQ(ParseOne("rotated", false)->GetBool("rotated"), false);
  ExpectRefused("rotated", Int(1), "a boolean", "the integer 1");
  ExpectRefused("rotated", 1.0, "a boolean", "the number 1");
  ExpectRefused("rotated", Text("true"), "a boolean", "the string 'true'");
}

TEST(AttributesTest, IntegersAreIntegersInRange) {
  EXPECT_EQ(ParseOne("top_k", Int(1))->GetInt("top_k"), 1);
  EXPECT_EQ(ParseOne("top_k", Int(std::numeric_limits<std::int64_t>::max()))->GetInt("top_k"),
            std::numeric_limits<std::int64_t>::max());
  ExpectRefused("top_k", Int(0), "an integer of at least 1", "the integer 0");
  ExpectRefused("top_k", Int(-5), "an integer of at least 1", "the integer -5");
  ExpectRefused("top_k", true, "an integer", "the boolean true");
  ExpectRefused("top_k", 2.0, "an integer", "the number 2");
  ExpectRefused("top_k", Text("2"), "an integer", "the string '2'");
}

TEST(AttributesTest, AnIntegerIsTakenWhereADoubleIsWanted) {
  EXPECT_EQ(ParseOne("epsilon", 1e-5)->GetDouble("epsilon"), 1e-5);
  EXPECT_EQ(ParseOne("epsilon", Int(2))->GetDouble("epsilon"), 2.0);
  ExpectRefused("epsilon", false, "a number", "the boolean false");
  ExpectRefused("epsilon", Text("1e-5"), "a number", "the string '1e-5'");
}

TEST(AttributesTest, DoublesAreFiniteAlsoInF32) {
  ExpectRefused("epsilon", kInfinite, "a number of at least 0 that is finite", "the number inf");
  ExpectRefused("epsilon", std::nan(""), "a number of at least 0 that is finite", "the number nan");
  ExpectRefused("epsilon", 1e39, "a number of at least 0 that is finite in FP32", "the number 1e+39");
  // The boundary: what rounds to the largest f32 is taken, what rounds to infinity is not.
  EXPECT_TRUE(ParseOne("epsilon", std::nextafter(0x1.ffffffp127, 0.0)).ok());
  EXPECT_FALSE(ParseOne("epsilon", 0x1.ffffffp127).ok());
}

TEST(AttributesTest, RangesOfDoubles) {
  EXPECT_EQ(ParseOne("epsilon", 0.0)->GetDouble("epsilon"), 0.0);
  ExpectRefused("epsilon", -1e-9, "a number of at least 0", "the number -1e-09");
  EXPECT_EQ(ParseOne("sigma", 1e-30)->GetDouble("sigma"), 1e-30);
  ExpectRefused("sigma", 0.0, "a number greater than 0", "the number 0");
  ExpectRefused("sigma", 1e-60, "a number greater than 0", "the number 1e-60");  // 0 once it is an f32
}

TEST(AttributesTest, EnumerationsAreExact) {
  EXPECT_EQ(ParseOne("algorithm", Text("online"))->GetString("algorithm"), "online");
  ExpectRefused("algorithm", Text(""), "one of auto, safe, online", "the string ''");
  ExpectRefused("algorithm", Text("Online"), "one of auto, safe, online", "the string 'Online'");
  ExpectRefused("algorithm", Int(1), "one of auto, safe, online", "the integer 1");
  EXPECT_EQ(ParseOne("accumulator", Text("FP16"))->GetString("accumulator"), "FP16");
  ExpectRefused("accumulator", Text("fp16"), "one of FP16, FP32", "the string 'fp16'");
  ExpectRefused("accumulator", Text(""), "one of FP16, FP32", "the string ''");
}

TEST(AttributesTest, IntegerLists) {
  EXPECT_THAT(ParseOne("axes", Text("0,2"))->GetIntList("axes").value(), ElementsAre(0, 2));
  EXPECT_THAT(ParseOne("axes", Text("-1"))->GetIntList("axes").value(), ElementsAre(-1));
  EXPECT_THAT(ParseOne("axes", Text("2, 0"))->GetIntList("axes").value(), ElementsAre(2, 0));
  EXPECT_THAT(ParseOne("axes", Int(1))->GetIntList("axes").value(), ElementsAre(1));
  EXPECT_EQ(ParseOne("axes", Text(""))->GetIntList("axes"), std::nullopt);
  const std::string expected = "a string of different integers, separated by commas";
  for (const char* const text : {"0,0", "1,01", ",", "0,", ",0", "0;1", "a", "1.5", "0 1", " ", "0x1", "1e1", "+1",
                                 "9223372036854775808", "1,,2"}) {
    ExpectRefused("axes", Text(text), expected, std::string("the string '") + text + "'");
  }
  ExpectRefused("axes", true, expected, "the boolean true");
  ExpectRefused("axes", 1.0, expected, "the number 1");
}

TEST(AttributesTest, DoubleLists) {
  EXPECT_THAT(ParseOne("scales", Text("0.1,0.1,2,-3e-1"))->GetDoubleList("scales").value(),
              ElementsAre(0.1, 0.1, 2.0, -0.3));
  EXPECT_EQ(ParseOne("scales", Text(""))->GetDoubleList("scales"), std::nullopt);
  const std::string expected = "a string of 4 numbers";
  for (const char* const text :
       {"1,2,3", "1,2,3,4,5", "1,2,3,inf", "1,2,3,nan", "1,2,3,1e39", "1,2,3,1e999", "1,2,3,x"}) {
    ExpectRefused("scales", Text(text), expected, std::string("the string '") + text + "'");
  }
  ExpectRefused("scales", Int(1), expected, "the integer 1");  // a list of one
}

TEST(AttributesTest, IntegerOrChoice) {
  EXPECT_EQ(ParseOne("axis", Int(-2))->GetInt("axis"), -2);
  EXPECT_EQ(ParseOne("axis", Int(-2))->GetString("axis"), std::nullopt);
  EXPECT_EQ(ParseOne("axis", Text("all"))->GetString("axis"), "all");
  EXPECT_EQ(ParseOne("axis", Text("all"))->GetInt("axis"), std::nullopt);
  for (const char* const text : {"", "ALL", "1"}) {
    ExpectRefused("axis", Text(text), "an integer or one of all", std::string("the string '") + text + "'");
  }
  ExpectRefused("axis", true, "an integer or one of all", "the boolean true");
}

TEST(AttributesTest, AnUnknownNameListsTheOperatorsAttributes) {
  const absl::StatusOr<Attributes> parsed = ParseOne("espilon", 1.0);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      std::string(parsed.status().message()),
      "unknown attribute 'espilon': expected one of rotated, top_k, epsilon, sigma, algorithm, accumulator, axes, "
      "scales, axis");
  EXPECT_THAT(std::string(Attributes::Parse({}, {{"x", Int(1)}}).status().message()), HasSubstr("expected none"));
}

TEST(AttributesTest, ANameGivenTwiceIsRefused) {
  for (const char* const text : {"0", ""}) {
    const absl::StatusOr<Attributes> parsed = Attributes::Parse(Specs(), {{"axes", Text(text)}, {"axes", Text(text)}});
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("attribute 'axes': expected once"));
  }
}

TEST(AttributesTest, LongAndUnprintableTextIsCutAndEscaped) {
  const std::string name = std::string(5000, 'n');
  EXPECT_LT(ParseOne(name, true).status().message().size(), 300u);
  const std::string message(ParseOne("algorithm", Text("a\nb" + std::string(5000, 'v'))).status().message());
  EXPECT_LT(message.size(), 300u);
  EXPECT_THAT(message, HasSubstr("a\\nb"));
  EXPECT_THAT(message, HasSubstr("...'"));
}

TEST(AttributesTest, CutTextIsStillUtf8) {
  // 99 bytes, then a character of two bytes across the cut: it goes as a whole.
  const std::string message(ParseOne("algorithm", Text(std::string(99, 'v') + "\xc3\xa9 tail")).status().message());
  EXPECT_THAT(message, HasSubstr("v...'"));
  EXPECT_THAT(message, Not(HasSubstr("\xc3")));
}

TEST(ResolveAxisTest, CountsFromTheEndAsPyTorchDoes) {
  EXPECT_EQ(ResolveAxis("axis", -1, 3).value(), 2);
  EXPECT_EQ(ResolveAxis("axis", -3, 3).value(), 0);
  EXPECT_EQ(ResolveAxis("axis", 2, 3).value(), 2);
  EXPECT_EQ(ResolveAxis("axis", 0, 0).value(), 0);
  EXPECT_EQ(ResolveAxis("axis", -1, 0).value(), 0);
}

TEST(ResolveAxisTest, OutsideTheRankIsRefused) {
  constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t axis : {std::int64_t{3}, std::int64_t{-4}, kSmallest}) {
    const absl::StatusOr<int> resolved = ResolveAxis("axis", axis, 3);
    EXPECT_EQ(resolved.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(resolved.status().message()),
              "attribute 'axis': expected an axis within [-3, 2] of a tensor of rank 3, got " + std::to_string(axis));
  }
  EXPECT_FALSE(ResolveAxis("axis", 1, 0).ok());
}

}  // namespace
}  // namespace kernelwire
