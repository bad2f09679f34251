// The shared memory through which rows pass that are not plain (row_vectors.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_SPACE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_SPACE_CUH_

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// The shared memory of the lanes of a group, or of a warp whose threads have rows to themselves: a place for a row of
/// each of kInputs inputs on its way in, and one for a stretch on its way out.
template <typename Held, typename Group, int kInputs>
class RowSpace {
 public:
  static constexpr int kGranules = kInputs * Held::template kGranulesIn<Group> + Held::template kGranulesOut<Group>;

  __device__ __forceinline__ RowSpace() {
    extern __shared__ Granule granules_of_block[];
    granules_ = granules_of_block + threadIdx.x / kThreads * kGranules;
  }

  __device__ __forceinline__ Granule* In(int input) const {
    return granules_ + input * Held::template kGranulesIn<Group>;
  }
  __device__ __forceinline__ Granule* Out() const { return In(kInputs); }

  static __host__ __device__ constexpr std::size_t BytesOfBlock(unsigned threads) {
    return static_cast<std::size_t>(threads / kThreads) * kGranules * sizeof(Granule);
  }

 private:
  static constexpr int kThreads = Group::kLanes == 1 ? 32 : Group::kLanes;  // that have it
  Granule* granules_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_SPACE_CUH_
