// Cases of softmax, which are those of log_softmax too: they take the same requests. Defined in softmax_cases.cc.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_FAMILY_CASES_H_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_FAMILY_CASES_H_

#include <vector>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

std::vector<OperatorCase> SoftmaxFamilyCases();

/// Replaces the elements of one row, which are `stride` apart, by their results.
using SoftmaxOfRow = void (*)(double* row, std::size_t width, std::size_t stride);

/// The oracle, given what becomes of a row.
std::vector<ExpectedOutput> SoftmaxFamilyOracle(const OperatorCase& test_case, SoftmaxOfRow of_row);

/// The largest element; a NaN if there is one.
double MaximumOfRow(const double* row, std::size_t width, std::size_t stride);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_FAMILY_CASES_H_
