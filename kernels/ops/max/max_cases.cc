// Cases of max, and the oracle: those of every operator that picks an element.
#include "kernels/testing/extreme_cases.h"

namespace kernelwire::testing {

OperatorCases MaxCases() { return ExtremeValueCases("max", Extreme::kLargest); }

}  // namespace kernelwire::testing
