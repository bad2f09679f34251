// layer_norm of FP32 rows that begin anywhere, and which blocks share, in large tensors where memory is fast: clusters
// stay, the next row is on its way (row_staged.cuh), and each block keeps the weights and biases of its share, in
// shared memory, or weights in registers. (Elements are words: nothing of them is moved, as it is in
// layer_norm_kept.cuh.)
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_

#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_kept_rows.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_usual.cuh"

namespace kernelwire {

/// The weights and biases of a block's words. All threads of a block construct one, and meet before any asks for
/// values.
template <int kWords, bool kWeightsInRegisters>
class WideParameters {
 public:
  /// `place`: of the block, for a pair for each word, or for a bias.
  __device__ __forceinline__ WideParameters(const BlockGroup& group, const LayerNormArguments& arguments,
                                            Granule* place)
      : kept_(reinterpret_cast<Kept*>(place) + FirstOfThread()) {
    const Segment& only = arguments.table.only;
    const auto* const weights = static_cast<const float*>(UsualParameterAt(only.inputs[kLayerNormWeightInput]));
    const auto* const biases = static_cast<const float*>(UsualParameterAt(only.inputs[kLayerNormBiasInput]));
    const int last = static_cast<int>(arguments.width) - 1;  // no result is made of what lies behind it
    const int share = static_cast<int>(blockDim.x) * kWords;
    const int first = static_cast<int>(group.block()) * share;
    // Of a loop over the thread's own words ptxas would remember too much.
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < share; i += static_cast<int>(blockDim.x)) {
      const int element = min(first + i, last);
      if constexpr (kWeightsInRegisters) {
        reinterpret_cast<Kept*>(place)[i] = __ldg(biases + element);
      } else {
        reinterpret_cast<Kept*>(place)[i] = make_float2(__ldg(weights + element), __ldg(biases + element));
      }
    }
    if constexpr (kWeightsInRegisters) {
#pragma unroll
      for (int v = 0; v < kWords; ++v) {
        weights_[v] = __ldg(weights + min(first + FirstOfThread() + 32 * v, last));
      }
    }
  }

  /// Those of the thread's word `v`.
  __device__ __forceinline__ void Values(int v, float& weight, float& bias) const {
    if constexpr (kWeightsInRegisters) {
      weight = weights_[v];
      bias = kept_[32 * v];
    } else {
      const float2 pair = kept_[32 * v];
      weight = pair.x;
      bias = pair.y;
    }
  }

 private:
  using Kept = std::conditional_t<kWeightsInRegisters, float, float2>;
  static __device__ __forceinline__ int FirstOfThread() {
    return static_cast<int>(threadIdx.x / 32 * (32 * kWords) + threadIdx.x % 32);
  }

  const Kept* kept_;
  float weights_[kWeightsInRegisters ? kWords : 1];
};

/// For the usual launch. The bits are those of LayerNormResidentKernel.
template <typename Shape>
__global__ void __launch_bounds__(MostThreadsOfKeptCluster(Shape::kBytes / 4), 2)
    LayerNormWideKeptKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Staged = StagedWordShape<Shape>;
  using Space = HeldSpace<float, Staged, RowAccess::kOdd, 1>;  // parameters lie behind it
  extern __shared__ Granule granules_of_block[];
  Granule* const place = granules_of_block + Space::BytesOfBlock(blockDim.x) / sizeof(Granule);
  const int blocks = arguments.tuning.cluster_blocks;
  TicketRows<1> tickets(arguments.tickets, blocks);
  BlockGroup group(blocks, true);
  const WideParameters<Shape::kBytes / 4, (Shape::kBytesOfWeights > 0)> kept(group, arguments, place);
  __syncthreads();
  NormaliseKeptRows<float, Staged, RowAccess::kOdd>(
      arguments, tickets, group,
      [&](int v, float(&weights)[1], float(&biases)[1], auto...) { kept.Values(v, weights[0], biases[0]); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_
