// layer_norm of FP32 rows that begin anywhere, and which blocks share, in large tensors where memory is fast: clusters
// stay and look ahead, and each block keeps the weights and biases of its share in shared memory, which are twice what
// there is of a row. (Elements are words: nothing of them is moved, as it is in layer_norm_kept.cuh.)
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_

#include "kernels/ops/layer_norm/layer_norm_kept_rows.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_usual.cuh"

namespace kernelwire {

/// Fills `pairs` with the `count` weights and biases from `first` on, of `width`; behind them, with any. All threads of
/// a block call it, and meet before any uses them.
__device__ __forceinline__ void KeepWideParameters(float2* pairs, const LayerNormArguments& arguments, int first,
                                                   int count) {
  const Segment& only = arguments.table.only;
  const auto* const weights = static_cast<const float*>(UsualParameterAt(only.inputs[kLayerNormWeightInput]));
  const auto* const biases = static_cast<const float*>(UsualParameterAt(only.inputs[kLayerNormBiasInput]));
  const int last = static_cast<int>(arguments.width) - 1;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    const int element = min(first + i, last);
    pairs[i] = make_float2(__ldg(weights + element), __ldg(biases + element));
  }
}

/// For the usual launch. The bits are those of LayerNormResidentKernel.
template <typename Shape>
__global__ void __launch_bounds__(MostThreadsOfKeptCluster(Shape::kBytes / 4), 2)
    LayerNormWideKeptKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Staged = StagedWordShape<Shape>;
  using Space = HeldSpace<float, Staged, RowAccess::kOdd, 1>;  // parameters lie behind it
  extern __shared__ Granule granules_of_block[];
  auto* const pairs = reinterpret_cast<float2*>(granules_of_block + Space::BytesOfBlock(blockDim.x) / sizeof(Granule));
  const int blocks = arguments.tuning.cluster_blocks;
  TicketRows<1> tickets(arguments.tickets, blocks);
  BlockGroup group(blocks, true);
  constexpr int kWords = Shape::kBytes / 4;
  const int share = static_cast<int>(blockDim.x) * kWords;
  KeepWideParameters(pairs, arguments, static_cast<int>(group.block()) * share, share);
  __syncthreads();
  const float2* const own = pairs + threadIdx.x / 32 * (32 * kWords) + threadIdx.x % 32;
  NormaliseKeptRows<float, Staged, RowAccess::kOdd>(arguments, tickets, group,
                                                    [&](int v, float(&weights)[1], float(&biases)[1], auto...) {
                                                      const float2 pair = own[v * 32];
                                                      weights[0] = pair.x;
                                                      biases[0] = pair.y;
                                                    });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_
