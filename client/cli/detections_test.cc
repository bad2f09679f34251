#include "client/cli/detections.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelwire::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char kCoco[] = R"([
  {"image_id": 73, "category_id": 4, "bbox": [12.66, 3.32, 268.6, 271.91], "score": 0.726},
  {"image_id": 42, "category_id": 18, "bbox": [258.15, 41.29, 348.26, 243.78], "score": 0.236},
  {"image_id": 73, "category_id": 11, "bbox": [61, 22.75, 504, 609.67], "score": 0.318}])";

const char kOneImage[] = R"({"source": "someone", "boxes": [[0, 0, 10, 10], [1, 1, 11, 11]], "scores": [0.5, 0.75],
  "idxs": [3, 3], "keep": [1]})";

std::string ErrorOf(const std::string& json) { return ParseDetections(json).status().message(); }

TEST(Detections, ReadsCocoResultsByImage) {
  const auto detections = ParseDetections(kCoco);
  ASSERT_TRUE(detections.ok()) << detections.status().ToString();
  ASSERT_EQ(detections->images.size(), 2u);
  EXPECT_EQ(detections->box_coding(), client::BoxCoding::kXywh);
  EXPECT_EQ(detections->images[0].id, 42);
  EXPECT_THAT(detections->images[1].classes, ElementsAre(4, 11));
  EXPECT_FALSE(detections->expected.has_value());
}

TEST(Detections, ReadsOneImage) {
  const auto detections = ParseDetections(kOneImage);
  ASSERT_TRUE(detections.ok()) << detections.status().ToString();
  ASSERT_EQ(detections->images.size(), 1u);
  EXPECT_THAT(detections->images[0].boxes[1], ElementsAre(1, 1, 11, 11));
  EXPECT_THAT(*detections->expected, ElementsAre(1));
  EXPECT_THAT(ParseDetections(R"({"boxes": [[0,0,1,1]], "scores": [1]})")->images[0].classes, ElementsAre(0));
}

TEST(Detections, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf("[{"), HasSubstr("expected JSON"));
  EXPECT_THAT(ErrorOf("3"), HasSubstr("file: expected a list of COCO results"));
  EXPECT_THAT(ErrorOf("[[1]]"), HasSubstr("entry 0: expected an object with image_id"));
  EXPECT_THAT(ErrorOf(R"([{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3], "score": 1}])"),
              HasSubstr("entry 0, box: expected four numbers, got [1,2,3]"));
  EXPECT_THAT(ErrorOf(R"([{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}])"),
              HasSubstr("entry 0, score: expected a number, got null"));
  EXPECT_THAT(ErrorOf(R"([{"image_id": 1, "category_id": 3000000000, "bbox": [1, 2, 3, 4], "score": 1}])"),
              HasSubstr("entry 0, class: expected a whole number of 32 bits, got 3000000000"));
  EXPECT_THAT(ErrorOf(R"([{"image_id": 1, "category_id": 18446744073709551615, "bbox": [1, 2, 3, 4], "score": 1}])"),
              HasSubstr("entry 0, class: expected a whole number of 32 bits, got 18446744073709551615"));
  EXPECT_THAT(ErrorOf(R"([{"image_id": 9223372036854775808, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}])"),
              HasSubstr("entry 0, image_id: expected a whole number of 64 bits, got 9223372036854775808"));
  EXPECT_THAT(ErrorOf(R"({"boxes": [[0,0,1,1]], "scores": [1], "keep": [18446744073709551615]})"),
              HasSubstr("keep: expected whole numbers of 64 bits, got 18446744073709551615"));
  EXPECT_THAT(ErrorOf(R"({"boxes": [[0,0,1,1]], "scores": []})"), HasSubstr("scores: expected a list of 1 numbers"));
  EXPECT_THAT(ErrorOf(R"({"boxes": 5})"), HasSubstr("boxes: expected a list of boxes, got 5"));
}

TEST(FormatKept, KeepsTheFormAndTheDigits) {
  EXPECT_EQ(FormatKept(*ParseDetections(kCoco), {{{0}, {0.236f}}, {{1, 0}, {0.726f, 0.318f}}}),
            R"([{"bbox":[258.15,41.29,348.26,243.78],"category_id":18,"image_id":42,"score":0.236},)"
            R"({"bbox":[61.0,22.75,504.0,609.67],"category_id":11,"image_id":73,"score":0.726},)"
            R"({"bbox":[12.66,3.32,268.6,271.91],"category_id":4,"image_id":73,"score":0.318}])"
            "\n");
  EXPECT_EQ(FormatKept(*ParseDetections(kOneImage), {{{1}, {0.75f}}}),
            "{\"boxes\":[[1.0,1.0,11.0,11.0]],\"idxs\":[3],\"keep\":[1],\"scores\":[0.75]}\n");
}

TEST(PictureOf, TurnsWidthsIntoCorners) {
  const auto pictures = PictureOf(*ParseDetections(kCoco), {{{0}, {0.236f}}, {{}, {}}});
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_EQ(pictures[0].title, "image 42: 1 of 1 boxes");
  EXPECT_NEAR(pictures[0].boxes[0].corners[2], 606.41, 1e-3);
  EXPECT_EQ(pictures[0].boxes[0].label, "18  0.24");
}

}  // namespace
}  // namespace kernelwire::cli
