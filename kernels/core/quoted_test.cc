#include "kernels/core/quoted.h"

#include <string>

#include "gtest/gtest.h"

namespace kernelwire {
namespace {

TEST(QuotedTest, OrdinaryTextIsKept) {
  EXPECT_EQ(Quoted(""), "''");
  EXPECT_EQ(Quoted("rms_norm"), "'rms_norm'");
  EXPECT_EQ(Quoted("größe \xe2\x82\xac \xf0\x9f\x9a\x80"), "'größe \xe2\x82\xac \xf0\x9f\x9a\x80'");
}

TEST(QuotedTest, ControlCharactersAndBadUtf8AreEscaped) {
  EXPECT_EQ(Quoted("a\nb\r"), "'a\\nb\\r'");
  EXPECT_EQ(Quoted(std::string_view("\0x", 2)), "'\\x00x'");
  EXPECT_EQ(Quoted("it's"), "'it\\'s'");
  EXPECT_EQ(Quoted("\xff"), "'\\xff'");
  EXPECT_EQ(Quoted("\xc0\xaf"), "'\\xc0\\xaf'");           // overlong
  EXPECT_EQ(Quoted("\xed\xa0\x80"), "'\\xed\\xa0\\x80'");  // a surrogate
  EXPECT_EQ(Quoted("\xe2\x82"), "'\\xe2\\x82'");           // cut short
}

TEST(QuotedTest, LongTextIsCutBetweenCharacters) {
  const std::string longest(kLongestQuote, 'a');
  EXPECT_EQ(Quoted(longest), "'" + longest + "'");
  EXPECT_EQ(Quoted(longest + "b"), "'" + std::string(kLongestQuote - 3, 'a') + "...'");
  std::string euros;
  for (int i = 0; i < 1000; ++i) {
    euros += "\xe2\x82\xac";
  }
  const std::string cut = Quoted(euros);
  EXPECT_EQ(cut, "'" + euros.substr(0, (kLongestQuote - 3) / 3 * 3) + "...'");
  for (std::size_t length = 0; length < 300; ++length) {
    EXPECT_LE(Quoted(std::string(length, '\x01')).size(), kLongestQuote + 2) << length;
  }
}

}  // namespace
}  // namespace kernelwire
