// Every operator, through every one of its cases, on every device there is. What holds for all operators is asserted
// here and nowhere else; the runner adds guard bands, unchanged inputs and bits that do not depend on the run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/batch_groups.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/tolerance.h"

namespace kernelwire::testing {
namespace {

/// One operator, case and device.
struct Trial {
  const OperatorCases* cases = nullptr;
  const OperatorCase* test_case = nullptr;
  DeviceRunner* device = nullptr;

  const Operator& op() const { return *FindOperator(cases->name); }
};

std::string NameOf(const Trial& trial) {
  return trial.cases->name + "_" + trial.test_case->name + "_" + trial.device->name();
}

void PrintTo(const Trial& trial, std::ostream* out) { *out << NameOf(trial); }

std::vector<Trial> AllTrials() {
  std::vector<Trial> trials;
  for (const OperatorCases& cases : AllOperatorCases()) {
    for (const OperatorCase& test_case : cases.cases) {
      for (DeviceRunner* const device : AllDeviceRunners()) {
        trials.push_back({&cases, &test_case, device});
      }
    }
  }
  return trials;
}

/// Seeds follow from names, so that a case keeps its companions when others are added.
std::uint32_t SeedOf(const std::string& name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

/// Of all cases of an operator; found once.
const std::vector<BatchGroup>& GroupsOf(const OperatorCases& cases) {
  static std::map<const OperatorCases*, std::vector<BatchGroup>> groups;
  const auto [found, added] = groups.try_emplace(&cases);
  if (added) {
    found->second = BatchGroupsOf(*FindOperator(cases.name), cases.cases);
  }
  return found->second;
}

/// The cases that may share a launch with `trial`'s, itself among them; none if the operator refuses it.
BatchGroup PossibleCompanions(const Trial& trial) {
  for (const BatchGroup& group : GroupsOf(*trial.cases)) {
    if (std::find(group.begin(), group.end(), trial.test_case) != group.end()) {
      return group;
    }
  }
  return {};
}

/// `trial`'s case somewhere among one to seven companions, any of them perhaps more than once.
BatchGroup DrawBatch(const Trial& trial, std::uint32_t seed) {
  const BatchGroup possible = PossibleCompanions(trial);
  std::mt19937 random(seed);  // its sequence is the same on every machine, unlike those of std distributions
  BatchGroup batch;
  const std::size_t companions = 1 + random() % 7;
  for (std::size_t i = 0; i < companions; ++i) {
    batch.push_back(possible[random() % possible.size()]);
  }
  batch.insert(batch.begin() + static_cast<std::ptrdiff_t>(random() % (batch.size() + 1)), trial.test_case);
  return batch;
}

/// What a case gives alone on the trial's device. Run once, though it is asked for by the case itself and by every
/// batch that the case is drawn into: the run itself has seen to it that another one gives the same bits.
const absl::StatusOr<std::vector<HostTensor>>& Alone(const Trial& trial, const OperatorCase& test_case) {
  static std::map<std::pair<const OperatorCase*, DeviceRunner*>, absl::StatusOr<std::vector<HostTensor>>> results;
  const auto [found, added] = results.try_emplace({&test_case, trial.device});
  if (added) {
    found->second = trial.device->Run(trial.op(), test_case);
  }
  return found->second;
}

class BatteryTest : public ::testing::TestWithParam<Trial> {};

TEST_P(BatteryTest, AgreesWithTheOracle) {
  const Trial& trial = GetParam();
  const auto& outputs = Alone(trial, *trial.test_case);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<ExpectedOutput> expected = trial.cases->oracle(*trial.test_case);
  ASSERT_EQ(outputs->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(Disagreement(expected[i], (*outputs)[i]), "") << "output " << trial.op().spec.outputs[i].name;
  }
}

TEST_P(BatteryTest, SameBitsAloneAndBatched) {
  const Trial& trial = GetParam();
  const std::uint32_t seed = SeedOf(trial.cases->name + trial.test_case->name);
  SCOPED_TRACE("seed " + std::to_string(seed));
  ASSERT_FALSE(PossibleCompanions(trial).empty());
  const BatchGroup batch = DrawBatch(trial, seed);
  const auto together = trial.device->RunBatch(trial.op(), batch);
  ASSERT_TRUE(together.ok()) << together.status();
  for (std::size_t c = 0; c < batch.size(); ++c) {
    const auto& alone = Alone(trial, *batch[c]);
    ASSERT_TRUE(alone.ok()) << alone.status();
    for (std::size_t i = 0; i < alone->size(); ++i) {
      EXPECT_TRUE(SameBits((*alone)[i], (*together)[c][i]))
          << batch[c]->name << ", request " << c << " of " << batch.size() << ", output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, BatteryTest, ::testing::ValuesIn(AllTrials()),
                         [](const auto& suite) { return NameOf(suite.param); });

/// One operator on one device, through the question whose answer the server asks for at its start.
class KnownAnswerTest : public ::testing::TestWithParam<std::pair<const Operator*, DeviceRunner*>> {};

std::vector<std::pair<const Operator*, DeviceRunner*>> OperatorsAndDevices() {
  std::vector<std::pair<const Operator*, DeviceRunner*>> pairs;
  for (const Operator& op : AllOperators()) {
    for (DeviceRunner* const device : AllDeviceRunners()) {
      pairs.emplace_back(&op, device);
    }
  }
  return pairs;
}

TEST_P(KnownAnswerTest, IsTheAnswer) {
  const auto& [op, device] = GetParam();
  ASSERT_NE(op->known_answer, nullptr);
  const KnownAnswer known = op->known_answer();
  OperatorCase question;
  question.name = "known_answer";
  question.attributes = known.attributes;
  for (const KnownAnswer::Tensor& input : known.inputs) {
    question.inputs.push_back({input.desc, input.bytes});
  }
  for (std::size_t i = 0; i < known.outputs.size(); ++i) {
    question.wanted_outputs |= known.outputs[i].desc.dtype != DataType::kInvalid ? 1u << i : 0u;
  }
  const auto outputs = device->Run(*op, question);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), known.outputs.size());
  for (std::size_t i = 0; i < known.outputs.size(); ++i) {
    const HostTensor right{known.outputs[i].desc, known.outputs[i].bytes};
    ASSERT_EQ((*outputs)[i].desc.dtype, right.desc.dtype);
    if (right.present()) {
      ASSERT_EQ((*outputs)[i].desc.shape, right.desc.shape);
      const std::vector<double> expected = ToDoubles(right);
      const std::vector<double> values = ToDoubles((*outputs)[i]);
      for (std::size_t e = 0; e < expected.size(); ++e) {
        EXPECT_NEAR(values[e], expected[e], IsFloat(right.desc.dtype) ? known.absolute_tolerance : 0.0)
            << i << ", " << e;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, KnownAnswerTest, ::testing::ValuesIn(OperatorsAndDevices()), [](const auto& suite) {
  return suite.param.first->spec.name + "_" + suite.param.second->name();
});

TEST(CasesTest, AreThereForEveryOperatorUnderUsableNames) {
  ASSERT_EQ(AllOperatorCases().size(), AllOperators().size());
  for (std::size_t i = 0; i < AllOperators().size(); ++i) {
    const OperatorCases& cases = AllOperatorCases()[i];
    EXPECT_EQ(cases.name, AllOperators()[i].spec.name);
    EXPECT_GE(cases.cases.size(), 12u) << cases.name;
    std::set<std::string> names;
    bool any_benchmark = false;
    for (const OperatorCase& test_case : cases.cases) {
      EXPECT_TRUE(names.insert(test_case.name).second) << cases.name << " has two cases " << test_case.name;
      for (const char c : test_case.name) {
        EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') << test_case.name;
      }
      any_benchmark = any_benchmark || test_case.benchmark;
    }
    EXPECT_TRUE(any_benchmark) << cases.name;
  }
}

TEST(CasesTest, SomeOfEveryOperatorShareALaunch) {
  for (const OperatorCases& cases : AllOperatorCases()) {
    std::size_t most = 0;
    for (const BatchGroup& group : GroupsOf(cases)) {
      most = std::max(most, group.size());
    }
    EXPECT_GE(most, 3u) << cases.name << ": too few cases of one batch key to try batching";
  }
}

TEST(SpecsTest, FitTheTableOfSegmentsAndSayWhatTheyAre) {
  for (const Operator& op : AllOperators()) {
    EXPECT_LE(op.spec.inputs.size(), static_cast<std::size_t>(kMaxInputs)) << op.spec.name;
    EXPECT_LE(op.spec.outputs.size(), static_cast<std::size_t>(kMaxOutputs)) << op.spec.name;
    EXPECT_FALSE(op.spec.summary.empty()) << op.spec.name;
    EXPECT_FALSE(op.spec.formula.empty()) << op.spec.name;
    EXPECT_FALSE(op.spec.promises.empty()) << op.spec.name;
    for (const std::vector<TensorSpec>* const tensors : {&op.spec.inputs, &op.spec.outputs}) {
      for (const TensorSpec& tensor : *tensors) {
        EXPECT_TRUE(tensor.dtypes.Contains(tensor.listed_dtype)) << op.spec.name << " " << tensor.name;
        EXPECT_FALSE(tensor.doc.empty()) << op.spec.name << " " << tensor.name;
      }
    }
    for (const AttributeSpec& attribute : op.spec.attributes) {
      EXPECT_FALSE(attribute.doc.empty()) << op.spec.name << " " << attribute.name;
      EXPECT_FALSE(attribute.default_text.empty()) << op.spec.name << " " << attribute.name;
    }
    EXPECT_EQ(op.launch_cuda != nullptr, BuiltWithCuda()) << op.spec.name;
  }
}

}  // namespace
}  // namespace kernelwire::testing
