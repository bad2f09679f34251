// The catalogue of operators: the one place that expands operators.def.
#ifndef KERNELWIRE_KERNELS_REGISTRY_H_
#define KERNELWIRE_KERNELS_REGISTRY_H_

#include <string_view>
#include <vector>

#include "kernels/core/operator.h"

namespace kernelwire {

/// All operators in the order of operators.def. Built on first use, constant afterwards; thread-safe.
const std::vector<Operator>& AllOperators();

/// By wire name; null when there is none.
const Operator* FindOperator(std::string_view name);

/// Whether this build holds CUDA kernels.
bool BuiltWithCuda();

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_REGISTRY_H_
