// Reductions along axes, and dot products. See kernelwire/operators.h.
//
// Elements: FP16, BF16, FP32, FP64, FP8, INT8, UINT8, INT32, INT64. What does not fit an integer result is
// OUT_OF_RANGE, with a message that names the type to ask for.
#ifndef KERNELWIRE_CLIENT_REDUCTIONS_H_
#define KERNELWIRE_CLIENT_REDUCTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kernelwire/client.h"
#include "kernelwire/tensor.h"

namespace kernelwire::client {

struct ReductionOptions {
  std::vector<std::int64_t> axes;       // each once, negative ones count from the end; empty: all
  bool keepdims = false;                // the reduced axes stay, with extent 1
  std::optional<DataType> accumulator;  // of partial results; the wide one of x's kind: FP32, FP64, INT32, INT64
  std::optional<DataType> output_type;  // of the result; what each function says
};

/// Of x's type; FP32 for FP8, the accumulator's (INT32 for 8 bits, else INT64) for integers, which are added and
/// multiplied exactly.
Result<OutputTensor> Sum(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout);
Result<OutputTensor> Prod(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout);

/// Sum / n, log(sum(exp(x))), sqrt(sum(x^2)). Of x's type; FP32 for FP8 and integers.
Result<OutputTensor> Mean(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout);
Result<OutputTensor> Logsumexp(const Client& client, const TensorView& x, const ReductionOptions& options,
                               Timeout timeout);
Result<OutputTensor> L2Norm(const Client& client, const TensorView& x, const ReductionOptions& options,
                            Timeout timeout);

/// The largest and the smallest element; a NaN wins. Of x's type; FP32 for FP8.
Result<OutputTensor> Max(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout);
Result<OutputTensor> Min(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout);

/// Where it is, the first of equals: along one axis, or over all of them in the flattened tensor. INT64, or INT32 on
/// request.
Result<OutputTensor> Argmax(const Client& client, const TensorView& x, const ReductionOptions& options,
                            Timeout timeout);
Result<OutputTensor> Argmin(const Client& client, const TensorView& x, const ReductionOptions& options,
                            Timeout timeout);

struct DotOptions {
  std::optional<DataType> accumulator;  // FP32, FP64 for FP64, INT32 for INT8
  std::optional<DataType> output_type;  // that of a, the accumulator's for INT8
};

/// y = sum(a * b) along the last axis. `a` and `b` share type (FP16, BF16, FP32, FP64, INT8) and shape.
Result<OutputTensor> Dot(const Client& client, const TensorView& a, const TensorView& b, const DotOptions& options,
                         Timeout timeout);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_REDUCTIONS_H_
