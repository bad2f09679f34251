// Cases of rms_norm, and the oracle.
#include <utility>
#include <vector>

#include "kernels/ops/rms_norm/rms_norm_oracle.h"
#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing {
namespace {

std::vector<HostTensor> ArrangeRmsNorm(HostTensor x, HostTensor weight) { return {std::move(x), std::move(weight)}; }

std::vector<ExpectedOutput> RmsNormOracle(const OperatorCase& test_case) {
  return {RmsNormOf(test_case, ToDoubles(test_case.inputs[0]), test_case.inputs[1])};
}

}  // namespace

OperatorCases RmsNormCases() {
  OperatorCases cases;
  cases.name = "rms_norm";
  cases.oracle = &RmsNormOracle;
  cases.cases = NormCases(&ArrangeRmsNorm);
  // Where epsilon hides nothing, the roots themselves must be right.
  const AttributeList no_epsilon = {{"epsilon", 0.0}};
  cases.cases.push_back(
      NormCase("epsilon_0_constant", ArrangeRmsNorm(FilledTensor(DataType::kFp32, {3, 64}, -2.5), {}), no_epsilon));
  cases.cases.push_back(NormCase("epsilon_0_squares_underflow",
                                 ArrangeRmsNorm(FilledTensor(DataType::kFp32, {3, 300}, 3e-39), {}), no_epsilon));
  return cases;
}

}  // namespace kernelwire::testing
