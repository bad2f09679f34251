#include "server/option_values.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ByteSize, ReadsPlainBytesAndUnits) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"0", 0}, {"1048576", 1 << 20}, {"64KiB", 64 << 10}, {"3MiB", 3 << 20}, {"2GiB", std::int64_t{2} << 30}};
  for (const auto& [text, bytes] : cases) {
    ByteSize size;
    std::string error;
    EXPECT_TRUE(AbslParseFlag(text, &size, &error)) << text << ": " << error;
    EXPECT_EQ(size.bytes, bytes) << text;
  }
}

TEST(ByteSize, RefusesWhatIsNoWholeNumberOfBytes) {
  for (const char* text :
       {"", "-1", "+1", " 1", "1.5MiB", "MiB", "1MB", "1 MiB", "1mib", "9223372036854775808", "9007199254740992GiB"}) {
    ByteSize size{77};
    std::string error;
    EXPECT_FALSE(AbslParseFlag(text, &size, &error)) << text;
    EXPECT_THAT(error, HasSubstr("expected")) << text;
    EXPECT_EQ(size.bytes, 77) << text;
  }
}

TEST(ByteSize, PrintsWhatItReads) {
  for (const char* text : {"0", "1000", "64KiB", "1025KiB", "64MiB", "3GiB"}) {
    ByteSize size;
    std::string error;
    ASSERT_TRUE(AbslParseFlag(text, &size, &error)) << text;
    EXPECT_EQ(AbslUnparseFlag(size), text);
  }
}

TEST(SplitList, KeepsEmptyEntriesForTheCallerToRefuse) {
  EXPECT_THAT(SplitList(""), IsEmpty());
  EXPECT_THAT(SplitList("  "), IsEmpty());
  EXPECT_THAT(SplitList("a"), ElementsAre("a"));
  EXPECT_THAT(SplitList(" a , b"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitList("a,"), ElementsAre("a", ""));
}

TEST(ParseOrdinals, TakesNumbersOnce) {
  EXPECT_THAT(*ParseOrdinals("2,0"), ElementsAre(2, 0));
  EXPECT_THAT(*ParseOrdinals(""), IsEmpty());
  for (const char* text : {"-1", "a", "0,,1", "1,1", "0x1"}) {
    EXPECT_FALSE(ParseOrdinals(text).ok()) << text;
  }
}

TEST(ParseDelays, TakesModelsOnce) {
  EXPECT_THAT(*ParseDelays("softmax=200us, nms=1ms"),
              ElementsAre(Pair("softmax", absl::Microseconds(200)), Pair("nms", absl::Milliseconds(1))));
  EXPECT_THAT(*ParseDelays(""), IsEmpty());
  for (const char* text : {"softmax", "softmax=", "=1ms", "softmax=3", "softmax=1ms,softmax=2ms", "softmax=1ms,"}) {
    EXPECT_FALSE(ParseDelays(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kernelwire
