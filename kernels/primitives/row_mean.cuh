// From the sum of a row to its mean.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_MEAN_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_MEAN_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_group.cuh"

namespace kernelwire {

/// Means of held rows of T, which a Group shares, by the reciprocal of their width: a division takes a dozen
/// instructions. Blocks divide for 16-bit rows none the less. A division has a call in it, for rare operands, and where
/// there is a call ptxas unpacks elements once more for the results; else it holds them unpacked across the reduction,
/// in twice the registers, and spills.
template <typename T, typename Group, typename Acc>
class RowMean {
 public:
  __device__ __forceinline__ RowMean(const WidthReciprocal& reciprocal, std::int64_t width)
      : by_(kDivides ? static_cast<Acc>(static_cast<int>(width)) : reciprocal.As<Acc>()) {}

  __device__ __forceinline__ Acc operator()(Acc sum) const { return kDivides ? sum / by_ : RoundedProduct(sum, by_); }

 private:
  static constexpr bool kDivides = sizeof(T) == 2 && std::is_same_v<Group, BlockGroup>;
  Acc by_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_MEAN_CUH_
