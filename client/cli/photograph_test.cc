#include "client/cli/photograph.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Base64, IsThatOfTheRfc) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe"), "//4=");
}

TEST(ParsePhotograph, ReadsTheSizeOfPng) {
  const std::string png("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\2\x80\0\0\1\xe0\x08\2\0\0\0", 29);
  const auto photograph = ParsePhotograph(png);
  ASSERT_TRUE(photograph.ok()) << photograph.status().ToString();
  EXPECT_EQ(photograph->width, 640);
  EXPECT_EQ(photograph->height, 480);
  EXPECT_THAT(photograph->data_uri, StartsWith("data:image/png;base64,iVBOR"));
}

// A segment of three bytes, a table that is no frame, then the frame.
TEST(ParsePhotograph, ReadsTheSizeOfJpeg) {
  const std::string jpeg("\xff\xd8\xff\xe0\0\5abc\xff\xff\xc4\0\3t\xff\xc2\0\x0b\x08\0\x64\1\0\3", 25);
  const auto photograph = ParsePhotograph(jpeg);
  ASSERT_TRUE(photograph.ok()) << photograph.status().ToString();
  EXPECT_EQ(photograph->width, 256);
  EXPECT_EQ(photograph->height, 100);
  EXPECT_THAT(photograph->data_uri, StartsWith("data:image/jpeg;base64,"));
}

TEST(ParsePhotograph, RefusesOtherFiles) {
  for (const std::string content : {"", "GIF89a", "\x89PNG\r\n\x1a\n", "\xff\xd8", "\xff\xd8\xff\xda\0\2xxxxxxxx"}) {
    EXPECT_THAT(ParsePhotograph(content).status().message(), HasSubstr("PNG or JPEG"));
  }
}

}  // namespace
}  // namespace kernelwire::cli
