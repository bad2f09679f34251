// Cases of add_rms_norm, and the oracle.
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/ops/rms_norm/rms_norm_oracle.h"
#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing {
namespace {

/// b takes a quarter of a away, so that sums have to be rounded and troubles stay what they are.
std::vector<HostTensor> ArrangeAddRmsNorm(HostTensor a, HostTensor weight) {
  std::vector<double> values = ToDoubles(a);
  for (double& value : values) {
    value = std::isfinite(value) ? -0.25 * value : 1.0;
  }
  HostTensor b = FromDoubles(a.desc.dtype, a.desc.shape, values);
  return {std::move(a), std::move(b), std::move(weight)};
}

std::vector<ExpectedOutput> AddRmsNormOracle(const OperatorCase& test_case) {
  const HostTensor& a = test_case.inputs[0];
  std::vector<double> sums = ToDoubles(a);
  const std::vector<double> addends = ToDoubles(test_case.inputs[1]);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] += addends[i];  // FP32 sums are exact or rounded as FP32 rounds them: f64 has more than twice the digits
  }
  ExpectedOutput residual;
  residual.wanted = test_case.wanted_outputs == 0 || (test_case.wanted_outputs & 2U) != 0;
  residual.desc = a.desc;
  residual.values = ToDoubles(FromDoubles(a.desc.dtype, a.desc.shape, sums));
  residual.agreement = Agreement::kExact;
  return {RmsNormOf(test_case, residual.values, test_case.inputs[2]), residual};
}

}  // namespace

OperatorCases AddRmsNormCases() {
  OperatorCases cases;
  cases.name = "add_rms_norm";
  cases.oracle = &AddRmsNormOracle;
  cases.cases = NormCases(&ArrangeAddRmsNorm);
  for (const DataType dtype : {DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    for (const std::int64_t width : {96, 2049, 40000}) {
      const Shape shape{width > 5000 ? 1 : 3, width};
      std::vector<HostTensor> inputs = {NormalTensor(dtype, shape, 5), NormalTensor(dtype, shape, 6),
                                        NormalTensor(DataType::kFp32, {width}, 7)};
      const std::string name = std::string(NameOf(dtype)) + "_sum_" + std::to_string(width);
      cases.cases.push_back(NormCase(name, inputs));
      for (const auto& [outputs, mask] : {std::pair("_y_only", 1U), std::pair("_residual_only", 2U)}) {
        cases.cases.push_back(NormCase(name + outputs, inputs));
        cases.cases.back().wanted_outputs = mask;
      }
    }
  }
  // Sums that leave their type: infinities, as one addition gives them.
  const HostTensor large = FilledTensor(DataType::kFp16, {2, 40}, 60000.0);
  cases.cases.push_back(NormCase("sums_overflow_FP16", {large, large, {}}));
  return cases;
}

}  // namespace kernelwire::testing
