// nms where the device changes its way of working: around the sizes of sort tiles, windows of a round and merges, for
// images of unlike sizes in one launch, and for scenes that make long rounds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/nms/nms_scenes.h"
#include "kernels/ops/nms/nms_test_case.h"
#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/tolerance.h"

namespace kernelwire {
namespace {

using testing::AllDeviceRunners;
using testing::DeviceRunner;
using testing::ExpectedOutput;
using testing::HostTensor;
using testing::OperatorCase;
using testing::nms::Chain;
using testing::nms::Clustered;
using testing::nms::Scattered;
using testing::nms::Scene;

const Operator& Nms() { return *FindOperator("nms"); }

OperatorCase CaseOf(const std::string& name, const Scene& scene, AttributeList attributes = {}) {
  OperatorCase made = testing::nms::MakeCase(name, scene.boxes, scene.scores, scene.classes);
  made.attributes = std::move(attributes);
  return made;
}

void ExpectOutputs(const DeviceRunner& runner, const OperatorCase& test_case, const std::vector<HostTensor>& outputs) {
  static const testing::Oracle oracle = testing::NmsCases().oracle;
  const std::vector<ExpectedOutput> expected = oracle(test_case);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(Disagreement(expected[i], outputs[i]), "") << runner.name() << ", " << test_case.name << ", output " << i;
  }
}

void ExpectOracle(const OperatorCase& test_case) {
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->Run(Nms(), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ExpectOutputs(*runner, test_case, *outputs);
  }
}

TEST(NmsSizesTest, AroundTheWindowOfARound) {
  for (const int boxes : {991, 1023, 1024, 1025, 1055, 1056, 1057, 2047, 2048, 2049, 3073}) {
    const std::string count = std::to_string(boxes);
    ExpectOracle(CaseOf("apart_" + count, Scattered(boxes, 4000, 60, 0, 301)));
    ExpectOracle(CaseOf("crowded_" + count, Scattered(boxes, 300, 60, 0, 302)));
    ExpectOracle(CaseOf("classes_" + count, Scattered(boxes, 300, 60, 7, 303)));
  }
}

// Windows that cover all of what is left, exactly or but for one box; none of the boxes overlap.
TEST(NmsSizesTest, WholeWindowsOfBoxesThatStay) {
  for (const int boxes : {1024, 1025, 2048, 4096, 4097, 9216, 9217}) {
    Scene scene;
    for (int i = 0; i < boxes; ++i) {
      scene.Add({10.0 * i, 0, 10.0 * i + 10, 10}, (i * 37) % 251);
    }
    ExpectOracle(CaseOf("disjoint_" + std::to_string(boxes), scene));
    ExpectOracle(CaseOf("limited_" + std::to_string(boxes), scene, {{"max_output", std::int64_t{1500}}}));
    ExpectOracle(CaseOf("best_" + std::to_string(boxes), scene, {{"top_k", std::int64_t{1024}}}));
  }
}

// Where buckets end and merging begins, where that turns from one pass to two, and elsewhere; many equal scores.
TEST(NmsSizesTest, AroundTheWaysOfRanking) {
  for (const int boxes : {4097, 11264, 11265, 16384, 16385}) {
    for (const int classes : {0, 3}) {
      Scene scene = Scattered(boxes, 400, 60, classes, 305);
      for (double& score : scene.scores) {
        score = std::floor(score * 512);
      }
      ExpectOracle(CaseOf("ties_" + std::to_string(boxes), scene));
      ExpectOracle(CaseOf("limits_" + std::to_string(boxes), scene,
                          {{"top_k", std::int64_t{5000}}, {"max_per_class", std::int64_t{700}}}));
    }
  }
}

// Scores and classes that lie anywhere but evenly: all in one bucket, at both ends, on both sides of zero.
TEST(NmsSizesTest, ScoresAndClassesOfAnyRange) {
  constexpr int kBoxes = 2500;
  const double kInfinite = std::numeric_limits<double>::infinity();
  const std::vector<double> far_apart = {0, 1, -1, 65536, 2147483647.0, -2147483648.0};
  const auto score_of = [&](int kind, int i, double score) {
    switch (kind) {
      case 0:
        return 0.5;
      case 1:
        return i % 2 == 0 ? -1.5 : 1.5;
      case 2:
        return i == 7 ? kInfinite : i == 8 ? -kInfinite : std::ldexp(score, -100);
      default:
        return std::ldexp(score - 0.5, i % 200 - 100);
    }
  };
  for (const int classes : {0, 6}) {
    for (int kind = 0; kind < 4; ++kind) {
      Scene scene = Scattered(kBoxes, 400, 60, classes, 306);
      int i = 0;
      for (double& score : scene.scores) {
        score = score_of(kind, i++, score);
      }
      for (double& class_id : scene.classes) {
        class_id = far_apart[static_cast<std::size_t>(class_id)];
      }
      ExpectOracle(CaseOf("range_" + std::to_string(kind), scene));
    }
  }
}

TEST(NmsSizesTest, ChainsAcrossWindows) {
  ExpectOracle(CaseOf("downward", Chain(5000, -1.0)));
  ExpectOracle(CaseOf("upward", Chain(5000, 1.0)));
  ExpectOracle(CaseOf("equal", Chain(5000, 0.0)));
}

TEST(NmsSizesTest, OneBoxSuppressesThousands) {
  Scene scene;
  for (int i = 0; i < 12000; ++i) {
    scene.Add({1, 2, 3, 4}, (i * 7) % 12007);
  }
  ExpectOracle(CaseOf("identical", scene));
}

// Large, small and empty images side by side in one launch, which ranks by buckets or, for the largest, by merging: no
// image waits for another.
void ExpectSideBySide(int classes, int largest) {
  std::vector<OperatorCase> cases;
  std::uint64_t seed = 310;
  for (const int boxes : {5000, 1, 0, 1024, 1025, 33, 2500, 700, 0, largest, 64}) {
    cases.push_back(CaseOf("side_by_side_" + std::to_string(boxes), Scattered(boxes, 500, 70, classes, seed++)));
    if (classes > 0 && boxes == 0) {
      cases.pop_back();  // a scene without boxes has no classes either
    }
  }
  std::vector<const OperatorCase*> batch;
  for (const OperatorCase& test_case : cases) {
    batch.push_back(&test_case);
  }
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    const auto outputs = runner->RunBatch(Nms(), batch);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ExpectOutputs(*runner, cases[i], (*outputs)[i]);
    }
  }
}

TEST(NmsSizesTest, ImagesOfUnlikeSizesInOneLaunch) {
  for (const int classes : {0, 5}) {
    ExpectSideBySide(classes, 9300);
    ExpectSideBySide(classes, 12000);
  }
}

// So many images that each has few blocks or one.
TEST(NmsSizesTest, ManyImages) {
  for (const std::int64_t images : {3, 16, 64, 90, 300}) {
    const std::int64_t boxes = images <= 16 ? 1300 : 600;
    const Scene scene = Clustered(static_cast<int>(images * boxes), 80, 0, 320);
    OperatorCase test_case = CaseOf("images_" + std::to_string(images), scene);
    test_case.inputs[0].desc.shape = {images, boxes, 4};
    test_case.inputs[1].desc.shape = {images, boxes};
    ExpectOracle(test_case);
  }
}

}  // namespace
}  // namespace kernelwire
