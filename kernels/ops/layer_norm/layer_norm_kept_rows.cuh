// layer_norm of rows that clusters share which stay, and have the weights and biases of their shares at hand: the loop
// over those rows, wherever the parameters are kept (layer_norm_kept_wide.cuh, layer_norm_kept_vectors.cuh).
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_ROWS_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_ROWS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_again.cuh"
#include "kernels/ops/layer_norm/layer_norm_held.cuh"
#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/row_loop.cuh"
#include "kernels/primitives/row_mean.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_tickets.cuh"

namespace kernelwire {

/// For the usual launch. `parameters(v, weights, biases, ...)` finds those of a row's vector `v`. The bits are those of
/// LayerNormResidentKernel.
template <typename T, typename Shape, RowAccess kAccess, typename Parameters>
__device__ __forceinline__ void NormaliseKeptRows(const LayerNormArguments& arguments, TicketRows<1>& tickets,
                                                  BlockGroup& group, const Parameters& parameters) {
  using Acc = AccumulatorOf<T>;
  using Held = HeldRow<T, Shape, kAccess, 1>;
  using Loads = LayerNormLoads<Held>;
  const RowMean<T, BlockGroup, Acc> mean(arguments.reciprocal, arguments.width);
  const HeldSpace<T, Shape, kAccess, 1> space;
  const auto row_at = [&](std::int64_t index) { return UsualLayerNormRowAt<T>(arguments, index); };
  const auto finish = [&](const auto& begun, Loads& loads, const auto& again) {
    const auto moments = MomentsOf<Acc>(group, loads.x, loads.beginning, begun.x.count, mean);
    tickets.Tell(group);
    loads.x.StayPacked();
    const auto row = again();
    if (moments.LeaveF32(arguments.epsilon)) {
      NormaliseAgain<Held, double>(group, row, MomentsInF64<Held>(group, row), arguments.epsilon);
      return;
    }
    const auto inv_std_dev = moments.template InvStdDev<T>(arguments.epsilon);
    const Normalisation<Acc, std::decay_t<decltype(inv_std_dev)>> normalisation(moments, inv_std_dev);
    StoreNormalisedBy(group, loads.x, row, normalisation, space.Out(), parameters);
  };
  ForEachRow<Shape::kLooksAhead, kAccess>(group, tickets, arguments.tuning, arguments.total_rows, row_at, space,
                                          Loads(space.In(0)), finish);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_KEPT_ROWS_CUH_
