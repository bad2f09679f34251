// layer_norm of rows that are read once more: by code that runs rarely, out of line.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_AGAIN_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_AGAIN_CUH_

#include <type_traits>

#include "kernels/ops/layer_norm/layer_norm_row.cuh"
#include "kernels/primitives/row_again.cuh"
#include "kernels/primitives/row_moments.cuh"

namespace kernelwire {

/// From moments to outputs, with parameters of any type and kind that begin anywhere, or in f64. Out of line, and
/// nothing of the held row goes along.
template <typename Held, typename Acc, typename Group, typename Row>
__device__ __noinline__ void NormaliseAgain(const Group group, const Row row, const Moments<Acc> moments,
                                            const NormEpsilon epsilon) {
  using T = typename Held::Element;
  const auto inv_std_dev = moments.template InvStdDev<T>(epsilon);
  StoreStatistics(group, row, moments, inv_std_dev);
  if (row.y == nullptr) {
    return;
  }
  const Normalisation<Acc, std::decay_t<decltype(inv_std_dev)>> normalisation(moments, inv_std_dev);
  const int count = row.x.count;
  const ParameterAgain<T, Acc> weight(row.weight_word, row.weight, Acc{1});
  const ParameterAgain<T, Acc> bias(row.bias_word, row.bias, Acc{0});
  ForEachAgain<Held, Acc>(group, RowAgain<T>{row.x.data}, row.y, count, [&](int index, auto& values) {
    std::remove_reference_t<decltype(values)> weights;
    std::remove_reference_t<decltype(values)> biases;
    weight.Values(index, count, weights);
    bias.Values(index, count, biases);
    Normalise(normalisation, weights, biases, values);
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_AGAIN_CUH_
