// Normalisations. See kernelwire/operators.h.
#ifndef KERNELWIRE_CLIENT_NORMS_H_
#define KERNELWIRE_CLIENT_NORMS_H_

#include <cstdint>
#include <optional>

#include "kernelwire/client.h"
#include "kernelwire/tensor.h"

namespace kernelwire::client {

/// Of every norm. A row is what is normalised together: everything from `axis` on.
struct NormOptions {
  std::optional<std::int64_t> axis;     // -1
  std::optional<double> epsilon;        // >= 0; 1e-5
  std::optional<DataType> output_type;  // of y, a float type; that of the input
};

/// y = x / sqrt(mean(x^2) + epsilon) * weight, of x's shape. `x`: FP16, BF16, FP32, FP64. `weight`: absent, of one
/// element, or of a row's shape, of any of these types.
Result<OutputTensor> RmsNorm(const Client& client, const TensorView& x, const std::optional<TensorView>& weight,
                             const NormOptions& options, Timeout timeout);

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, of x's shape. `x`, `weight` as for RmsNorm, `bias` as
/// `weight`.
Result<OutputTensor> LayerNorm(const Client& client, const TensorView& x, const std::optional<TensorView>& weight,
                               const std::optional<TensorView>& bias, const NormOptions& options, Timeout timeout);

/// `mean` and `inv_std_dev` = 1 / sqrt(variance + epsilon) have x's shape with 1 for every axis of a row, and are FP64
/// where x is, else FP32.
struct LayerNormResult {
  OutputTensor y;
  OutputTensor mean;
  OutputTensor inv_std_dev;
};

/// LayerNorm, and the statistics of each row. `y` has the same bits with and without them.
Result<LayerNormResult> LayerNormWithStatistics(const Client& client, const TensorView& x,
                                                const std::optional<TensorView>& weight,
                                                const std::optional<TensorView>& bias, const NormOptions& options,
                                                Timeout timeout);

/// Both of a's shape; `residual` of a's type.
struct AddRmsNormResult {
  OutputTensor y;
  OutputTensor residual;
};

/// residual = a + b, rounded once; y = RmsNorm of that residual, bit for bit. `a` and `b` share type and shape.
Result<AddRmsNormResult> AddRmsNorm(const Client& client, const TensorView& a, const TensorView& b,
                                    const std::optional<TensorView>& weight, const NormOptions& options,
                                    Timeout timeout);

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_NORMS_H_
