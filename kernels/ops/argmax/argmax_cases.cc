// Cases of argmax, and the oracle: those of every operator that says where one is.
#include "kernels/testing/extreme_cases.h"

namespace kernelwire::testing {

OperatorCases ArgmaxCases() { return ExtremePlaceCases("argmax", Extreme::kLargest); }

}  // namespace kernelwire::testing
