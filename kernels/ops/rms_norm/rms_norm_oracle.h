// The right answer of rms_norm, in f64, for its cases and for those of add_rms_norm.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ORACLE_H_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ORACLE_H_

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/testing/norm_cases.h"

namespace kernelwire::testing {

/// y for rows `x`, of which the attributes and the first input's shape are those of `test_case`.
inline ExpectedOutput RmsNormOf(const OperatorCase& test_case, std::vector<double> x, const HostTensor& weight) {
  const std::size_t width = NormWidthOf(test_case);
  ExpectedOutput y = ExpectedRows(test_case, static_cast<std::int64_t>(width));
  y.values = std::move(x);
  for (std::size_t row = 0; width > 0 && row < y.values.size() / width; ++row) {
    double* const values = y.values.data() + row * width;
    long double sum = 0.0L;
    for (std::size_t i = 0; i < width; ++i) {
      sum += static_cast<long double>(values[i]) * values[i];
    }
    const auto mean_square = static_cast<double>(sum / static_cast<long double>(width));
    const double root = std::sqrt(mean_square + EpsilonOf(test_case));
    for (std::size_t i = 0; i < width; ++i) {
      // An infinite root belongs to a row with an infinity: x * (1 / root), as the formula's rstd has it, gives NaN
      // there.
      const double normalised = std::isfinite(root) && root > 0.0 ? values[i] / root : values[i] * (1.0 / root);
      values[i] = normalised * ParameterAt(weight, i, 1.0);
    }
  }
  return y;
}

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ORACLE_H_
