// Cases of min, and the oracle: those of every operator that picks an element.
#include "kernels/testing/extreme_cases.h"

namespace kernelwire::testing {

OperatorCases MinCases() { return ExtremeValueCases("min", Extreme::kSmallest); }

}  // namespace kernelwire::testing
