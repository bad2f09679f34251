#include "client/cli/svg.h"

#include <algorithm>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(EscapeXml, LeavesNothingThatXmlReads) {
  EXPECT_EQ(EscapeXml("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(EscapeXml(std::string("x\0\1\x1f"
                                  "y\tz\n",
                                  8)),
            "xy\tz\n");
  EXPECT_EQ(EscapeXml("grün 猫"), "grün 猫");
}

TEST(DrawSvg, DrawsEachBoxOnceWithItsLabel) {
  const std::string svg = DrawSvg({{"image <1>", {{{10, 20, 110, 220}, 3, "dog & cat"}, {{0, 0, 5, 5}, 4, "b"}}}});
  EXPECT_THAT(svg, HasSubstr("image &lt;1&gt;"));
  EXPECT_THAT(svg, HasSubstr("dog &amp; cat"));
  EXPECT_EQ(CountOf(svg, "fill-opacity"), 2u);
  // The longer side, 220, fills 1000.
  EXPECT_THAT(svg, HasSubstr("x=\"45.5\" y=\"90.9\" width=\"454.5\" height=\"909.1\""));
  EXPECT_EQ(CountOf(svg, "<g "), CountOf(svg, "</g>"));
}

TEST(DrawSvg, LeavesOutWhatCannotBeDrawn) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string svg =
      DrawSvg({{"i", {{{0, 0, nan, 1}, 0, "n"}, {{0, 0, infinity, 1}, 0, "f"}, {{0, 0, 1, 1}, 0, "k"}}}});
  EXPECT_EQ(CountOf(svg, "fill-opacity"), 1u);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(DrawSvg, PutsSeveralImagesIntoAGrid) {
  EXPECT_EQ(CountOf(DrawSvg(std::vector<DrawnImage>(5)), "<g "), 5u);
  EXPECT_EQ(CountOf(DrawSvg({}), "<g "), 0u);
}

TEST(DrawSvg, ColoursFollowTheGroup) {
  const auto colour = [](std::int64_t group) {
    const std::string svg = DrawSvg({{"", {{{0, 0, 1, 1}, group, ""}}}});
    return svg.substr(svg.find("stroke=\"#") + 8, 7);
  };
  EXPECT_THAT(colour(0), testing::MatchesRegex("#[0-9a-f]+"));
  EXPECT_EQ(colour(7), colour(7));
  EXPECT_NE(colour(7), colour(8));
  EXPECT_THAT(colour(-1), testing::MatchesRegex("#[0-9a-f]+"));
}

TEST(DrawSvg, PutsThePhotographUnderTheBoxes) {
  DrawnImage image{"photo", {{{100, 100, 200, 300}, 1, "cat"}}, Photograph{500, 400, "data:image/png;base64,AAAA"}};
  const std::string svg = DrawSvg({image});
  // The longer side, 500, fills 1000.
  EXPECT_THAT(svg, HasSubstr("<image x=\"0.0\" y=\"0.0\" width=\"1000.0\" height=\"800.0\" "
                             "href=\"data:image/png;base64,AAAA\"/>"));
  EXPECT_LT(svg.find("<image"), svg.find("fill-opacity"));
}

}  // namespace
}  // namespace kernelwire::cli
