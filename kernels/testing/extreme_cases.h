// Cases of the operators that look for an end of the order: max and min, and argmax and argmin, which say where it is.
#ifndef KERNELWIRE_KERNELS_TESTING_EXTREME_CASES_H_
#define KERNELWIRE_KERNELS_TESTING_EXTREME_CASES_H_

#include <cstdint>
#include <string>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

enum class Extreme : std::uint8_t { kLargest, kSmallest };

/// Of an operator whose result is the element itself.
OperatorCases ExtremeValueCases(const std::string& name, Extreme which);

/// Of an operator whose result is its index: of equals the first.
OperatorCases ExtremePlaceCases(const std::string& name, Extreme which);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_EXTREME_CASES_H_
