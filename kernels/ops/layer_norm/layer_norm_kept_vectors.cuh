// layer_norm of long rows in whole vectors that blocks share, in large tensors where memory is fast: clusters stay and
// look ahead, and each thread keeps the weights and biases of its own elements in shared memory, which nobody else
// reads: registers have no room for them beside a row and the one on its way. Where that comes by shared memory, too,
// they may have room for weights, and are needed for them.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_VECTORS_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_VECTORS_CUH_

#include "kernels/ops/layer_norm/layer_norm_kept_rows.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_usual.cuh"

namespace kernelwire {

/// The parameters of a thread's elements; `Held`: what it has of a row. Registers have the weights of its first
/// kInRegisters vectors.
template <typename Held, int kInRegisters>
class ParametersOfThread {
 public:
  using T = typename Held::Element;

  /// `place`: of the block, two granules for each vector of each thread, or one for a bias.
  __device__ __forceinline__ ParametersOfThread(const BlockGroup& group, const LayerNormArguments& arguments,
                                                Granule* place)
      : own_(place + threadIdx.x / 32 * (32 * kOfThread) + threadIdx.x % 32) {
    const Segment& only = arguments.table.only;
    const auto* const weights = static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormWeightInput]));
    const auto* const biases = static_cast<const T*>(UsualParameterAt(only.inputs[kLayerNormBiasInput]));
#pragma unroll
    for (int v = 0; v < Held::kVectors; ++v) {
      const int index = Held::IndexOf(group, v);
      if (index < static_cast<int>(arguments.width)) {
        const Granule weight = LoadConstant<Granule>(weights + index);
        if (v < kInRegisters) {
          weights_[v] = weight;
        } else {
          own_[32 * PlaceOfWeight(v)] = weight;
        }
        own_[32 * PlaceOfBias(v)] = LoadConstant<Granule>(biases + index);
      }
    }
  }

  /// Those of vector `v`; where a row has none, anything.
  template <typename Acc>
  __device__ __forceinline__ void Values(int v, Acc (&weights)[Held::kLength], Acc (&biases)[Held::kLength]) const {
    if (v < kInRegisters) {
      Unpack<T>(weights_[v], weights);
    } else {
      Unpack<T>(own_[32 * PlaceOfWeight(v)], weights);
    }
    Unpack<T>(own_[32 * PlaceOfBias(v)], biases);
  }

 private:
  static constexpr int kOfThread = 2 * Held::kVectors - kInRegisters;
  // Of vectors whose weights lie here, these come first.
  static __device__ __forceinline__ constexpr int PlaceOfWeight(int v) { return 2 * v - kInRegisters; }
  static __device__ __forceinline__ constexpr int PlaceOfBias(int v) {
    return v < kInRegisters ? v : PlaceOfWeight(v) + 1;
  }

  Granule* own_;
  Granule weights_[Held::kVectors] = {};
};

/// For the usual launch, by LaunchKeptByClusters. The bits are those of LayerNormResidentKernel.
template <typename T, typename Shape, RowAccess kAccess>
__global__ void __launch_bounds__(Shape::BlockThreads(kAccess), Shape::ResidentBlocks(kAccess))
    LayerNormVectorsKeptKernel(const __grid_constant__ LayerNormArguments arguments) {
  AwaitEarlierWork(arguments);
  using Held = HeldRow<T, Shape, kAccess, 1>;
  extern __shared__ Granule granules_of_block[];
  const int blocks = arguments.tuning.cluster_blocks;
  TicketRows<1> tickets(arguments.tickets, blocks);
  BlockGroup group(blocks);
  using Space = HeldSpace<T, Shape, kAccess, 1>;  // parameters lie behind it
  const ParametersOfThread<Held, Shape::kBytesOfWeights / 16> kept(
      group, arguments, granules_of_block + Space::BytesOfBlock(blockDim.x) / sizeof(Granule));
  NormaliseKeptRows<T, Shape, kAccess>(
      arguments, tickets, group, [&](int v, auto& weights, auto& biases, auto...) { kept.Values(v, weights, biases); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_VECTORS_CUH_
