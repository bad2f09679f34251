// The host path is compiled for several instruction sets, of which a processor runs the best that it has. Here each of
// the others that this processor has goes through every operator's cases too, as it would on an older one.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hwy/targets.h"
#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/tolerance.h"

namespace kernelwire::testing {
namespace {

using Target = std::int64_t;  // one of Highway's bits

/// What Highway chooses from now on; 0 leaves it the choice.
void UseTarget(Target target) { hwy::SetSupportedTargetsForTest(target); }

DeviceRunner* HostRunner() {
  for (DeviceRunner* const runner : AllDeviceRunners()) {
    if (runner->name() == "host") {
      return runner;
    }
  }
  return nullptr;  // KERNELWIRE_TEST_DEVICE names another
}

/// Every target but the best, with every operator.
std::vector<std::pair<Target, const OperatorCases*>> LesserTargets() {
  std::vector<std::pair<Target, const OperatorCases*>> all;
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();  // the best first
  for (std::size_t i = 1; i < targets.size() && HostRunner() != nullptr; ++i) {
    for (const OperatorCases& cases : AllOperatorCases()) {
      all.emplace_back(targets[i], &cases);
    }
  }
  return all;
}

class VectorTargetsTest : public ::testing::TestWithParam<std::pair<Target, const OperatorCases*>> {
 protected:
  VectorTargetsTest() { UseTarget(GetParam().first); }
  ~VectorTargetsTest() override { UseTarget(0); }
};

TEST_P(VectorTargetsTest, AgreesWithTheOracle) {
  const OperatorCases& cases = *GetParam().second;
  const Operator& op = *FindOperator(cases.name);
  for (const OperatorCase& test_case : cases.cases) {
    const auto outputs = HostRunner()->Run(op, test_case);
    ASSERT_TRUE(outputs.ok()) << test_case.name << ": " << outputs.status();
    const std::vector<ExpectedOutput> expected = cases.oracle(test_case);
    ASSERT_EQ(outputs->size(), expected.size()) << test_case.name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(Disagreement(expected[i], (*outputs)[i]), "") << test_case.name << ", " << op.spec.outputs[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, VectorTargetsTest, ::testing::ValuesIn(LesserTargets()), [](const auto& suite) {
  return suite.param.second->name + "_" + hwy::TargetName(suite.param.first);
});

// A build for one instruction set, or a processor that has one.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(VectorTargetsTest);

}  // namespace
}  // namespace kernelwire::testing
