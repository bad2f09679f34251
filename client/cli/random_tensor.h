// Inputs for measurements: tensors of random values from a seed.
#ifndef KERNELWIRE_CLIENT_CLI_RANDOM_TENSOR_H_
#define KERNELWIRE_CLIENT_CLI_RANDOM_TENSOR_H_

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "client/cli/npy.h"
#include "kernelwire/status.h"
#include "kernelwire/tensor.h"

namespace kernelwire::cli {

/// The most bytes of an input: a gRPC message holds no more.
inline constexpr std::int64_t kMostInputBytes = std::numeric_limits<int>::max();

/// An input by name, type and shape.
struct InputPlan {
  std::string name;
  client::DataType dtype = client::DataType::kFp32;
  std::vector<std::int64_t> shape;
};

/// "8,1024"; an empty text is a scalar. Errors: INVALID_ARGUMENT.
client::Result<std::vector<std::int64_t>> ParseShapeText(const std::string& text);
/// Errors: INVALID_ARGUMENT for a shape without a number of elements and for more than kMostInputBytes.
client::Status CheckInputBytes(client::DataType dtype, const std::vector<std::int64_t>& shape);
/// All of one request. Requires: CheckInputBytes says OK to each. Errors: INVALID_ARGUMENT for more than
/// kMostInputBytes in all.
client::Status CheckInputBytes(const std::vector<InputPlan>& plans);
/// "x=FP32:8,1024", of at most kMostInputBytes. Errors: INVALID_ARGUMENT that says what was expected and what came.
client::Result<InputPlan> ParseInputPlan(const std::string& text);

/// Random elements: floats in [-4, 4), integers in [0, 80). By name: `boxes` are corners x1 y1 x2 y2 of boxes of 8 to
/// 136 pixels a side in a 1024 x 1024 image, `scores` are in [0, 1). The same plan and state give the same bytes on any
/// machine. Requires: CheckInputBytes says OK to its type and shape.
Array RandomTensor(const InputPlan& plan, std::mt19937_64& random);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_RANDOM_TENSOR_H_
