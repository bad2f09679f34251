// What layer_norm's kernels for held rows have in common: what they read of a row, and how results are made of it.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_HELD_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_HELD_CUH_

#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/row_beginning.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// From moments to outputs of a held row, where `parameters(v, weights, biases, ...)` finds those of its vector `v`.
template <typename Held, typename Group, typename Row, typename Acc, typename Factor, typename Parameters>
__device__ __forceinline__ void StoreNormalisedBy(const Group& group, const Held& held, const Row& row,
                                                  const Normalisation<Acc, Factor>& normalisation, Granule* out,
                                                  const Parameters& parameters) {
  using T = typename Held::Element;
  // In words a lane has many elements beside much else; a few are not unpacked anew.
  constexpr bool kAgain = std::is_same_v<typename Held::Unit, Word> && Held::kHeld > 16 && !Held::kInShared;
  const unsigned zero = kAgain ? UnknownZero() : 0;
  Held::Store(group, row.y, row.x.count, out, [&](int v, int, auto... full) {
    Acc values[Held::kLength];
    Acc weights[Held::kLength];
    Acc biases[Held::kLength];
    if constexpr (kAgain) {
      UnpackAgain<T>(held.vectors[v], zero, values);
    } else {
      Unpack<T>(held.vectors[v], values);
    }
    parameters(v, weights, biases, full...);
    Normalise(normalisation, weights, biases, values);
    return Pack<T>(values);
  });
}

/// What is read of a row: besides the thread's own part, for blocks, its beginning.
template <typename Held>
struct LayerNormLoads : RowLoads<Held, FillZero> {
  RowBeginning<typename Held::Element, Held::kPlain> beginning;

  using RowLoads<Held, FillZero>::RowLoads;
  template <typename Group, typename Row>
  __device__ __forceinline__ void Begin(const Group& group, const Row& row) {
    if constexpr (std::is_same_v<Group, BlockGroup>) {
      beginning.Load(row.x.data, row.x.count);
    }
    RowLoads<Held, FillZero>::Begin(group, row);
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_HELD_CUH_
