// Cases of argmin, and the oracle: those of every operator that says where one is.
#include "kernels/testing/extreme_cases.h"

namespace kernelwire::testing {

OperatorCases ArgminCases() { return ExtremePlaceCases("argmin", Extreme::kSmallest); }

}  // namespace kernelwire::testing
