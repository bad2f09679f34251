// From the sum of a row to its mean.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_MEAN_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_MEAN_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/rounded_product.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/two_parts.cuh"

namespace kernelwire {

/// Means of held rows of T, which a Group shares, by the reciprocal of their width: a division takes a dozen
/// instructions. The reciprocal's rounding is the same for all rows of a width; FP32 results would show it, and theirs
/// is corrected by what the mean times the width leaves of the sum. Blocks divide for 16-bit rows none the less. A
/// division has a call in it, for rare operands, and where there is a call ptxas unpacks elements once more for the
/// results; else it holds them unpacked across the reduction, in twice the registers, and spills.
template <typename T, typename Group, typename Acc>
class RowMean {
 public:
  __device__ __forceinline__ RowMean(const WidthReciprocal& reciprocal, std::int64_t width)
      : width_(static_cast<Acc>(static_cast<int>(width))),
        reciprocal_(reciprocal.As<Acc>()),
        precise_reciprocal_(reciprocal.f64) {}

  /// `sum`: an Acc or, of FP32 rows, a PreciseRowSum.
  template <typename Sum>
  __device__ __forceinline__ Acc operator()(const Sum& sum) const {
    if constexpr (std::is_same_v<Sum, TwoParts<Acc>>) {
      const Acc mean = RoundedProduct(sum.value, reciprocal_);
      return Corrected(mean, fma(-mean, width_, sum.value) + sum.rest);
    } else if constexpr (!std::is_same_v<Sum, Acc>) {
      return static_cast<Acc>(RoundedProduct(sum, precise_reciprocal_));
    } else if constexpr (kDivides) {
      return sum / width_;
    } else if constexpr (std::is_same_v<T, float>) {
      const Acc mean = RoundedProduct(sum, reciprocal_);
      return Corrected(mean, fma(-mean, width_, sum));
    } else {
      return RoundedProduct(sum, reciprocal_);
    }
  }

 private:
  /// `left`: what `mean` times the width leaves of the sum; no number, of an infinite one.
  __device__ __forceinline__ Acc Corrected(Acc mean, Acc left) const {
    return isnan(left) ? mean : fma(left, reciprocal_, mean);
  }

  static constexpr bool kDivides = sizeof(T) == 2 && std::is_same_v<Group, BlockGroup>;
  Acc width_;
  Acc reciprocal_;
  double precise_reciprocal_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_MEAN_CUH_
