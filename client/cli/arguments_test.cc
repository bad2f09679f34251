#include "client/cli/arguments.h"

#include <chrono>

#include "client/cli/number_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Option> kOptions = {
    {"input", OptionKind::kText, "NAME=FILE", "A tensor.", "", true},
    {"top_k", OptionKind::kInteger, "N", "How many."},
    {"iou_threshold", OptionKind::kNumber, "X", "How much.", "0.5"},
    {"timeout", OptionKind::kDuration, "TIME", "How long.", "10s"},
    {"quiet", OptionKind::kSwitch, "", "Says nothing."},
};

std::string ErrorOf(const std::vector<std::string>& words) {
  return Arguments::Parse(kOptions, words).status().message();
}

TEST(Arguments, ReadsOptionsAndOperandsInAnyOrder) {
  const auto parsed =
      Arguments::Parse(kOptions, {"softmax", "--input", "x=a.npy", "--top-k=7", "--quiet", "--input=y=b=c.npy",
                                  "--iou_threshold", "-1e-3", "more", "--", "--not-an-option"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_THAT(parsed->operands(), ElementsAre("softmax", "more", "--not-an-option"));
  EXPECT_THAT(parsed->All("input"), ElementsAre("x=a.npy", "y=b=c.npy"));
  EXPECT_EQ(parsed->Integer("top_k"), 7);
  EXPECT_EQ(parsed->Number("iou_threshold"), -1e-3);
  EXPECT_EQ(parsed->Duration("timeout"), 10s);
  EXPECT_TRUE(parsed->Has("quiet"));
}

TEST(Arguments, LeavesOutWhatWasNotGiven) {
  const auto parsed = Arguments::Parse(kOptions, {});
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->Has("top_k"));
  EXPECT_FALSE(parsed->Has("quiet"));
  EXPECT_THAT(parsed->All("input"), IsEmpty());
  EXPECT_EQ(parsed->Number("iou_threshold"), 0.5);
}

TEST(Arguments, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf({"--topk", "3"}), "--topk: no such option");
  EXPECT_EQ(ErrorOf({"--top_k"}), "--top_k: expected N after it, got nothing");
  EXPECT_EQ(ErrorOf({"--top_k", "0"}), "--top_k: expected a whole number >= 1, got '0'");
  EXPECT_EQ(ErrorOf({"--top_k", "3.5"}), "--top_k: expected a whole number >= 1, got '3.5'");
  EXPECT_EQ(ErrorOf({"--iou_threshold", "inf"}), "--iou_threshold: expected a number, got 'inf'");
  EXPECT_EQ(ErrorOf({"--iou_threshold="}), "--iou_threshold: expected a number, got ''");
  EXPECT_THAT(ErrorOf({"--timeout", "5"}), HasSubstr("--timeout: expected a number and a unit"));
  EXPECT_EQ(ErrorOf({"--quiet=no"}), "--quiet: takes no value, got 'no'");
}

TEST(ParseDuration, KnowsItsUnits) {
  EXPECT_EQ(ParseDuration("5us"), 5us);
  EXPECT_EQ(ParseDuration("0.25ms"), 250us);
  EXPECT_EQ(ParseDuration("2s"), 2s);
  EXPECT_EQ(ParseDuration("1.5m"), 90s);
  for (const char* bad : {"", "s", "5", "5h", "-1s", "1e30s", "nans", "5 s", "5mss"}) {
    EXPECT_EQ(ParseDuration(bad), std::nullopt) << bad;
  }
}

TEST(OptionsHelp, NamesPlaceholdersAndDefaults) {
  const std::string help = OptionsHelp(kOptions);
  EXPECT_THAT(help, HasSubstr("  --input NAME=FILE         A tensor. May be repeated.\n"));
  EXPECT_THAT(help, HasSubstr("How much. Default: 0.5.\n"));
  EXPECT_THAT(help, HasSubstr("  --quiet                   Says nothing.\n"));
}

}  // namespace
}  // namespace kernelwire::cli
