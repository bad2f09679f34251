// The one tolerance of the project: the bounds that the contract gives for floating-point results.
#ifndef KERNELWIRE_KERNELS_TESTING_TOLERANCE_H_
#define KERNELWIRE_KERNELS_TESTING_TOLERANCE_H_

#include <string>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

/// Holds `actual` against `expected`. Returns "" when they agree, and otherwise one sentence with the first element
/// that does not, both values and the bound.
/// kRounded: FP16 and BF16 within 1 ulp of the rounded f64 value plus 2^-21 of the row's largest magnitude, and at
/// least 95 % of a tensor of 200 elements or more the nearest value; FP32 within 4e-6 of (|y| + the row's largest |y|),
/// where |y| is the expected value; FP64 within 1e-13 of the same; in both at least one subnormal step is allowed.
/// kSummed: the same 1 ulp plus 2^-21 of the element's magnitude (the sum of |x|), FP32 within 1e-6 of it, FP64 within
/// 1e-14.
/// NaN matches NaN, infinities by sign; a finite value may be infinity, and the other way round, only where the bound
/// reaches across the end of the type's range.
/// Rows are runs of `row_width` elements. Infinite and NaN elements do not count for a row's largest magnitude.
std::string Disagreement(const ExpectedOutput& expected, const HostTensor& actual);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_TOLERANCE_H_
