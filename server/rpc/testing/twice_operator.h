// The smallest operator that computes something, and requests to it.
#ifndef KERNELWIRE_SERVER_RPC_TESTING_TWICE_OPERATOR_H_
#define KERNELWIRE_SERVER_RPC_TESTING_TWICE_OPERATOR_H_

#include <string>
#include <vector>

#include "kernels/core/operator.h"
#include "open_inference.pb.h"

namespace kernelwire::testing {

/// `y` = 2 `x`, FP32, any shape.
const Operator& TwiceOperator();

/// A request of model "twice" with `x` as one dimension.
inference::ModelInferRequest TwiceRequest(const std::vector<float>& x, const std::string& id = "");

/// The values of a reply's only output.
std::vector<float> ValuesOf(const inference::ModelInferResponse& reply);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_RPC_TESTING_TWICE_OPERATOR_H_
