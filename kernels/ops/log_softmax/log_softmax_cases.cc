// Cases of log_softmax, and the oracle.
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/ops/softmax/softmax_family_cases.h"
#include "kernels/testing/case.h"

namespace kernelwire::testing {
namespace {

void LogarithmsOfRow(double* row, std::size_t width, std::size_t stride) {
  const double maximum = MaximumOfRow(row, width, stride);
  long double sum = 0.0L;
  for (std::size_t i = 0; i < width; ++i) {
    sum += std::exp(static_cast<long double>(row[i * stride]) - maximum);
  }
  const long double log_of_sum = std::log(sum);
  for (std::size_t i = 0; i < width; ++i) {
    row[i * stride] = static_cast<double>(row[i * stride] - maximum - log_of_sum);
  }
}

/// An element of -infinity is -infinity in the result, and no magnitude: the finite ones are held against their own.
std::vector<ExpectedOutput> LogSoftmaxOracle(const OperatorCase& test_case) {
  return SoftmaxFamilyOracle(test_case, &LogarithmsOfRow);
}

}  // namespace

OperatorCases LogSoftmaxCases() {
  OperatorCases cases;
  cases.name = "log_softmax";
  cases.oracle = &LogSoftmaxOracle;
  cases.cases = SoftmaxFamilyCases();
  return cases;
}

}  // namespace kernelwire::testing
