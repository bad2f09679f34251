#include "client/cli/parameter_text.h"

#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using client::ParameterValue;

TEST(ParameterFromText, InfersTheType) {
  EXPECT_EQ(ParameterFromText("-1"), ParameterValue(std::int64_t{-1}));
  EXPECT_EQ(ParameterFromText("1e-6"), ParameterValue(1e-6));
  EXPECT_EQ(ParameterFromText("0.5"), ParameterValue(0.5));
  EXPECT_EQ(ParameterFromText("true"), ParameterValue(true));
  EXPECT_EQ(ParameterFromText("false"), ParameterValue(false));
  for (const char* text : {"all", "0,2", "True", "1 ", "nan", "inf", "0x10", "99999999999999999999x"}) {
    EXPECT_EQ(ParameterFromText(text), ParameterValue(std::string(text))) << text;
  }
}

TEST(SplitNamed, CutsAtTheFirstSign) {
  EXPECT_EQ(SplitNamed("x=a=b.npy"), std::pair(std::string("x"), std::string("a=b.npy")));
  for (const char* text : {"", "x", "=a", "x="}) {
    EXPECT_EQ(SplitNamed(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace kernelwire::cli
