// What the plans of the norms settle for a whole launch. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_NORM_PARAMS_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_NORM_PARAMS_H_

#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernelwire {

/// Equal for all requests of a launch. What differs (weight, bias, strides of rows) is in row_parameter.h.
struct NormParams {
  DataType x_type = DataType::kInvalid;
  DataType y_type = DataType::kInvalid;
  std::int64_t width = 0;  // elements of a row
  double epsilon = 0.0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_NORM_PARAMS_H_
