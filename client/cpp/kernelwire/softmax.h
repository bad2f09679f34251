// Softmax and its logarithm. See kernelwire/operators.h.
#ifndef KERNELWIRE_CLIENT_SOFTMAX_H_
#define KERNELWIRE_CLIENT_SOFTMAX_H_

#include <cstdint>
#include <optional>

#include "kernelwire/client.h"
#include "kernelwire/tensor.h"

namespace kernelwire::client {

enum class SoftmaxAlgorithm { kAuto, kSafe, kOnline };

struct SoftmaxOptions {
  std::optional<std::int64_t> axis;           // that rows run along; -1
  bool all_axes = false;                      // over the whole tensor; then `axis` is ignored
  std::optional<SoftmaxAlgorithm> algorithm;  // auto
  std::optional<DataType> output_type;        // a float type; that of x
};

/// y = exp(x - max) / sum(exp(x - max)), of x's shape. `x`: FP16, BF16, FP32, FP64.
Result<OutputTensor> Softmax(const Client& client, const TensorView& x, const SoftmaxOptions& options, Timeout timeout);

/// y = x - max - log(sum(exp(x - max))): the same without its underflow.
Result<OutputTensor> LogSoftmax(const Client& client, const TensorView& x, const SoftmaxOptions& options,
                                Timeout timeout);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_SOFTMAX_H_
