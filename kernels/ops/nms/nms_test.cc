// What is particular to nms: real detections, large inputs, the rounding of the IoU, soft-NMS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/nms/nms_test_case.h"
#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/tolerance.h"

namespace kernelwire {
namespace {

using testing::AllDeviceRunners;
using testing::DeviceRunner;
using ::testing::ElementsAre;
using testing::ExpectedOutput;
using testing::FromDoubles;
using testing::HostTensor;
using testing::OperatorCase;
using testing::nms::MakeCase;

const Operator& Nms() { return *FindOperator("nms"); }

std::vector<ExpectedOutput> Expected(const OperatorCase& test_case) {
  static const testing::Oracle oracle = testing::NmsCases().oracle;
  return oracle(test_case);
}

void ExpectOutputs(const DeviceRunner& runner, const OperatorCase& test_case, const std::vector<HostTensor>& outputs) {
  const std::vector<ExpectedOutput> expected = Expected(test_case);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].wanted) {
      EXPECT_EQ(Disagreement(expected[i], outputs[i]), "")
          << runner.name() << ", " << test_case.name << ", output " << i;
    }
  }
}

void ExpectOracle(const OperatorCase& test_case) {
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Nms(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ExpectOutputs(*runner, test_case, *outputs);
  }
}

nlohmann::json ReadData(const std::string& file) {
  const char* folder = std::getenv("KERNELWIRE_TEST_DATA");  // where the build folder is not
  std::ifstream in(std::string(folder != nullptr ? folder : KERNELWIRE_TEST_DATA) + "/" + file);
  EXPECT_TRUE(in.good()) << file;
  return nlohmann::json::parse(in);
}

// ---- real detections --------------------------------------------------------------------------------------

TEST(NmsTest, KeepsWhatMmcvKeepsOfARealDetectorsBoxes) {
  const nlohmann::json data = ReadData("mmcv_batched_nms.json");
  std::vector<double> boxes;
  for (const auto& box : data["boxes"]) {
    for (const auto& coordinate : box) {
      boxes.push_back(coordinate.get<double>());
    }
  }
  OperatorCase test_case =
      MakeCase("mmcv", boxes, data["scores"].get<std::vector<double>>(), data["idxs"].get<std::vector<double>>());
  test_case.attributes = {{"iou_threshold", 0.7}};
  const auto keep = data["keep"].get<std::vector<double>>();
  ASSERT_EQ(keep.size(), 554u);
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Nms(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(ToDoubles((*outputs)[0]), keep) << runner->name();
    EXPECT_THAT(ToDoubles((*outputs)[1]), ElementsAre(554.0)) << runner->name();
  }
}

// The detections of 99 photographs, as 99 requests of unlike sizes in one launch, and as one request with counts.
TEST(NmsTest, CocoDetectionsByRequestAndByImageAgree) {
  struct Photo {
    std::vector<double> boxes, scores, classes;
  };
  std::map<std::int64_t, Photo> photos;
  for (const auto& detection : ReadData("coco_fakebbox100_results.json")) {
    Photo& photo = photos[detection["image_id"].get<std::int64_t>()];
    for (const auto& number : detection["bbox"]) {
      photo.boxes.push_back(number.get<double>());
    }
    photo.scores.push_back(detection["score"].get<double>());
    photo.classes.push_back(detection["category_id"].get<double>());
  }
  ASSERT_EQ(photos.size(), 99u);
  std::vector<OperatorCase> cases;
  for (const auto& [id, photo] : photos) {
    cases.push_back(MakeCase("photo_" + std::to_string(id), photo.boxes, photo.scores, photo.classes));
    cases.back().attributes = {{"box_coding", std::string("xywh")}, {"iou_threshold", 0.1}};
  }
  std::vector<const OperatorCase*> batch;
  std::size_t most = 0;
  for (const OperatorCase& test_case : cases) {
    batch.push_back(&test_case);
    most = std::max(most, static_cast<std::size_t>(test_case.inputs[1].desc.shape[0]));
  }

  std::vector<double> boxes, scores, classes, counts;
  for (const auto& [id, photo] : photos) {
    const auto append = [](const std::vector<double>& from, std::size_t size, std::vector<double>* to) {
      to->insert(to->end(), from.begin(), from.end());
      to->resize(to->size() + size - from.size(), -7.0);
    };
    append(photo.boxes, 4 * most, &boxes);
    append(photo.scores, most, &scores);
    append(photo.classes, most, &classes);
    counts.push_back(static_cast<double>(photo.scores.size()));
  }
  OperatorCase together = MakeCase("photos", boxes, scores, classes);
  const std::int64_t columns = static_cast<std::int64_t>(most);
  together.attributes = cases.front().attributes;
  together.inputs[0].desc.shape = {99, columns, 4};
  together.inputs[1].desc.shape = together.inputs[2].desc.shape = {99, columns};
  together.inputs[3] = FromDoubles(DataType::kInt32, {99}, counts);
  ExpectOracle(together);

  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->RunBatch(Nms(), batch);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ExpectOutputs(*runner, cases[i], (*outputs)[i]);
    }
  }
}

// ---- large inputs -----------------------------------------------------------------------------------------

/// `boxes` boxes with corners on a square of `extent`, in `classes` classes (0: none), with many equal scores.
OperatorCase Large(int boxes, double extent, int classes, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  const auto roll = [&bits] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  std::vector<double> corners, scores, class_ids;
  for (int i = 0; i < boxes; ++i) {
    const double x = roll() * extent;
    const double y = roll() * extent;
    corners.insert(corners.end(), {x, y, x + 5 + 30 * roll(), y + 5 + 30 * roll()});
    scores.push_back(std::floor(roll() * 4096) / 4096);
    if (classes > 0) {
      class_ids.push_back(std::floor(roll() * classes));
    }
  }
  return MakeCase("large_" + std::to_string(boxes) + "_seed_" + std::to_string(seed), corners, scores, class_ids);
}

TEST(NmsTest, TwentyThousandCrowdedBoxesOfOneClass) { ExpectOracle(Large(20000, 400, 0, 101)); }

TEST(NmsTest, TwentyThousandScatteredBoxesOfOneClass) { ExpectOracle(Large(20000, 6000, 0, 102)); }

TEST(NmsTest, TwentyThousandBoxesOfEightyClasses) { ExpectOracle(Large(20000, 1000, 80, 103)); }

TEST(NmsTest, LongClassBesideShortOnes) {
  OperatorCase test_case = Large(24000, 500, 10, 104);
  const auto count = test_case.inputs[2].desc.shape[0];
  for (std::int64_t i = 0; i < count; i += 2) {
    testing::WriteElement(DataType::kInt64, test_case.inputs[2].bytes.data(), i, 3.0);
  }
  ExpectOracle(test_case);
  test_case.attributes = {{"max_per_class", std::int64_t{1500}}, {"top_k", std::int64_t{20000}}};
  ExpectOracle(test_case);
}

// More than one pass of merging on the device, and where others end: torchvision's kernel fails from 393 216 boxes on.
// So crowded that each is soon suppressed: the oracle holds every box against all that are kept.
TEST(NmsTest, FourHundredThousandBoxesOfOneClass) { ExpectOracle(Large(400000, 100, 0, 106)); }

TEST(NmsTest, SixHundredThousandBoxesOfAThousandClasses) { ExpectOracle(Large(600000, 100, 1000, 107)); }

// ---- the rounding of the IoU ------------------------------------------------------------------------------

// Pairs of boxes whose IoU differs by one bit when a multiplication and a subtraction share a rounding, as a compiler
// does where it may. With the smaller IoU as the threshold, only the defined rounding keeps (or drops) the second box.
TEST(NmsTest, EachOperationOfTheIouIsRoundedByItself) {
  constexpr std::uint64_t kSeed = 105;
  std::mt19937_64 bits(kSeed);
  const auto roll = [&bits] { return static_cast<float>(bits() >> 40) * 0x1p-24f; };
  int found = 0;
  for (int attempt = 0; found < 20; ++attempt) {
    ASSERT_LT(attempt, 100000) << "seed " << kSeed;
    const float width = 1 + roll();
    const float height = 1 + roll();
    const float shift = roll() * 0.5f;
    // Volatile, so that this test's own products are rounded whatever its compiler may do.
    const volatile float area = width * height;
    const volatile float far = shift + width;
    const volatile float other_width = far - shift;
    const volatile float other_area = other_width * height;
    const volatile float shared_width = width - shift;
    const volatile float shared = shared_width * height;
    const volatile float sum = area + other_area;
    const float defined = shared / (sum - shared);
    const float contracted = shared / std::fma(-shared_width, height, sum);
    if (defined == contracted) {
      continue;
    }
    ++found;
    OperatorCase test_case = MakeCase("rounding", {0, 0, width, height, shift, 0, far, height}, {2, 1}, {});
    test_case.attributes = {{"iou_threshold", static_cast<double>(std::min(defined, contracted))}};
    const double expected = defined > contracted ? 1.0 : 2.0;
    for (DeviceRunner* const runner : AllDeviceRunners()) {
      const auto outputs = runner->Run(Nms(), test_case);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_THAT(ToDoubles((*outputs)[1]), ElementsAre(expected)) << runner->name() << ", attempt " << attempt;
    }
  }
}

// ---- soft-NMS and rotated boxes ---------------------------------------------------------------------------

/// The boxes of the small example that mmcv's tests hold soft-NMS to, with iou_threshold 0.3, sigma 0.5, least score
/// 0.01.
OperatorCase SoftExample(const std::string& kind) {
  OperatorCase test_case =
      MakeCase("mmcv_soft", {6, 3, 8, 7, 3, 6, 9, 11, 3, 7, 10, 12, 1, 4, 13, 7}, {0.6f, 0.9f, 0.7f, 0.2f}, {});
  test_case.attributes = {{"soft_nms", kind}, {"iou_threshold", 0.3}, {"sigma", 0.5}, {"score_threshold", 0.01}};
  return test_case;
}

void ExpectKept(const OperatorCase& test_case, const std::vector<double>& indices, const std::vector<double>& scores) {
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Nms(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(ToDoubles((*outputs)[0]), indices) << runner->name();
    const std::vector<double> found = ToDoubles((*outputs)[2]);
    ASSERT_EQ(found.size(), scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      EXPECT_NEAR(found[i], scores[i], 1e-6) << runner->name() << ", " << i;
    }
  }
}

TEST(NmsTest, SoftNmsGivesWhatMmcvGives) {
  ExpectKept(SoftExample("linear"), {1, 0, 2, 3}, {0.9, 0.6, 0.29024392, 0.2});
  ExpectKept(SoftExample("gaussian"), {1, 0, 2, 3}, {0.9, 0.59630775, 0.35275510, 0.18650459});
  ExpectKept(SoftExample("none"), {1, 0, 3}, {0.9, 0.6, 0.2});
}

}  // namespace
}  // namespace kernelwire
