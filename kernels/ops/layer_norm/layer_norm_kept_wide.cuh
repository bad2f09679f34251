// layer_norm of FP32 rows that begin anywhere, and which blocks share, in large tensors where memory is fast: clusters
// stay, and each block keeps the weights and biases of its share in shared memory, which are twice what there is of a
// row. (Elements are words: nothing of them is moved, as it is in layer_norm_kept.cuh.)
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_again.cuh"
#include "kernels/ops/layer_norm/layer_norm_held.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_mean.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_tickets.cuh"

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
  using Held = HeldRow<float, Shape, RowAccess::kOdd, 1>;
  using Loads = LayerNormLoads<Held>;
  extern __shared__ Granule granules_of_block[];
  auto* const pairs = reinterpret_cast<float2*>(granules_of_block);
  const int blocks = arguments.tuning.cluster_blocks;
  TicketRows<1> tickets(arguments.tickets, blocks);
  BlockGroup group(blocks, true);
  constexpr int kWords = Shape::kBytes / 4;
  const int share = static_cast<int>(blockDim.x) * kWords;
  KeepWideParameters(pairs, arguments, static_cast<int>(group.block()) * share, share);
  __syncthreads();
  const float2* const own = pairs + threadIdx.x / 32 * (32 * kWords) + threadIdx.x % 32;
  const RowMean<float, BlockGroup, float> mean(arguments.reciprocal, arguments.width);
  const HeldSpace<float, Shape, RowAccess::kOdd, 1> space;
  const auto row_at = [&](std::int64_t index) { return UsualLayerNormRowAt<float>(arguments, index); };
  const auto finish = [&](const auto& begun, Loads& loads, const auto& again) {
    const auto moments = MomentsOf<float>(group, loads.x, loads.beginning, begun.x.count, mean);
    tickets.Tell(group);
    loads.x.StayPacked();
    const auto row = again();
    if (moments.LeaveF32(arguments.epsilon)) {
      NormaliseAgain<Held, double>(group, row, MomentsInF64<Held>(group, row), arguments.epsilon);
      return;
    }
    const auto inv_std_dev = moments.template InvStdDev<float>(arguments.epsilon);
    const Normalisation<float, std::decay_t<decltype(inv_std_dev)>> normalisation(moments, inv_std_dev);
    StoreNormalisedBy(group, loads.x, row, normalisation, space.Out(),
                      [&](int v, float(&weights)[1], float(&biases)[1], auto...) {
                        const float2 pair = own[v * 32];
                        weights[0] = pair.x;
                        biases[0] = pair.y;
                      });
  };
  ForEachRow<false, RowAccess::kOdd>(group, tickets, arguments.tuning, arguments.total_rows, row_at, space,
                                     Loads(space.In(0)), finish);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_WIDE_CUH_
