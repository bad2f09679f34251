// What the plans of the norms settle for a whole launch. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_NORM_PARAMS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_NORM_PARAMS_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/core/dtype.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {

/// epsilon in each type that sums run in: kernels that converted it would do so where all of them wait.
struct NormEpsilon {
  double f64 = 0.0;
  float f32 = 0.0F;

  static constexpr NormEpsilon Of(double epsilon) { return {epsilon, static_cast<float>(epsilon)}; }

  template <typename Acc>
  KERNELWIRE_HOST_DEVICE constexpr Acc As() const {
    return std::is_same_v<Acc, float> ? static_cast<Acc>(f32) : static_cast<Acc>(f64);
  }
};

/// 1 / width in each accumulator's type: a mean is a sum times it, where a division would take a dozen instructions.
struct WidthReciprocal {
  double f64 = 0.0;
  float f32 = 0.0F;

  /// Infinite where rows are empty, so that the mean of nothing is no number.
  static constexpr WidthReciprocal Of(std::int64_t width) {
    const double reciprocal = width == 0 ? std::numeric_limits<double>::infinity() : 1.0 / static_cast<double>(width);
    return {reciprocal, static_cast<float>(reciprocal)};
  }

  template <typename Acc>
  KERNELWIRE_HOST_DEVICE constexpr Acc As() const {
    return std::is_same_v<Acc, float> ? static_cast<Acc>(f32) : static_cast<Acc>(f64);
  }
};

/// Equal for all requests of a launch. What differs (weight, bias, strides of rows) is in row_parameter.h.
struct NormParams {
  DataType x_type = DataType::kInvalid;
  DataType y_type = DataType::kInvalid;
  std::int64_t width = 0;  // elements of a row
  double epsilon = 0.0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_NORM_PARAMS_H_
