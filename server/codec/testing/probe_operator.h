// An operator for tests of the codec: takes every type and shape, has optional inputs and outputs and an attribute of
// each common kind, and computes nothing.
#ifndef KERNELWIRE_SERVER_CODEC_TESTING_PROBE_OPERATOR_H_
#define KERNELWIRE_SERVER_CODEC_TESTING_PROBE_OPERATOR_H_

#include "kernels/core/operator.h"
#include "server/catalog/catalog.h"

namespace kernelwire::testing {

/// Inputs: `x` (any type), `y` (any type, optional), `z` (FP32, optional). Outputs: `copy` (type and shape of x),
/// `count` (INT32 [1]), and `wide` (FP64, shape of x), made only if listed.
const Operator& ProbeOperator();

/// A catalogue of the models `probe` in version 1 and `silent`, the same operator under another name, in version 3.
const Catalog& ProbeCatalog();

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_CODEC_TESTING_PROBE_OPERATOR_H_
