// A row of softmax, and what becomes of it once its statistics are known.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_ROW_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_ROW_CUH_

#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/device/early_reads.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_usual.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/running_softmax.cuh"
#include "kernels/primitives/segment_table.cuh"

namespace kernelwire {

struct SoftmaxArguments {
  SegmentTable table;
  std::uint32_t* tickets;  // Launch::tickets
  std::int64_t pieces;     // see SoftmaxParams
  std::int64_t width;
  std::int64_t inner;
  SoftmaxAlgorithm algorithm;
  EarlyReads early;
  RowTuning tuning;
};

/// Where one row, or one piece of interleaved rows, of one request lies.
template <typename T, typename Out>
using SoftmaxRow = RowAndResult<T, Out>;

template <typename T, typename Out>
__device__ __forceinline__ SoftmaxRow<T, Out> SoftmaxRowAt(const SoftmaxArguments& arguments, std::int64_t row) {
  return arguments.table.PickOf(row, [&](const Segment& segment) -> SoftmaxRow<T, Out> {
    const std::int64_t index = row - segment.first_row;
    return {RowSourceAt<T>(segment.inputs[0], index, segment.rows, segment.extents[kRowStrideX], arguments.width),
            static_cast<Out*>(segment.outputs[0]) + index * segment.extents[kRowStrideY]};
  });
}

/// The same in the usual launch.
template <typename T>
__device__ __forceinline__ SoftmaxRow<T, T> UsualSoftmaxRowAt(const SoftmaxArguments& arguments, std::int64_t row) {
  const Segment& only = arguments.table.only;
  return {UsualSourceAt<T>(only.inputs[0], row, arguments.pieces, arguments.width),
          UsualRowAt(static_cast<T*>(only.outputs[0]), row, arguments.width)};
}

/// From a row's statistics to its results: probabilities, or (kLog) their logarithms. `kWhole`: probabilities are
/// divided by all digits of a sum that has more than Acc.
template <bool kLog, typename Out, typename Acc, bool kWhole = false>
struct SoftmaxResult {
  static constexpr Acc kScale = kExpScale<Out>;  // 1 but for BF16

  Acc maximum;
  Acc sum;
  Acc rest;  // what `sum` lacks of all digits
  Acc last;  // 1 / sum, or log(sum); 16-bit probabilities: what their scaled exponentials are multiplied by

  template <typename Sum>
  __device__ __forceinline__ explicit SoftmaxResult(const RunningSoftmax<Acc, Sum>& row)
      : maximum(row.maximum),
        sum(static_cast<Acc>(row.sum)),
        rest(static_cast<Acc>(row.sum - static_cast<Sum>(sum))),
        last(kLog               ? static_cast<Acc>(log(row.sum))
             : sizeof(Out) == 2 ? static_cast<Acc>(Sum{1} / row.sum / Sum{kScale})
                                : Acc{1} / sum) {}

  __device__ __forceinline__ explicit SoftmaxResult(const TwoPartSoftmax& row)
      : maximum(row.maximum),
        sum(row.sum),
        rest(row.rest),
        last(kLog ? log(row.sum) + row.rest / row.sum : Acc{1} / row.sum) {}

  __device__ __forceinline__ Acc operator()(Acc x) const {
    return kLog ? (x - maximum) - last : Quotient(ScaledExp<Out>(x - maximum));
  }

  /// A probability from its exponential, as ScaledExp gives it. A product with 1 / sum would round twice, which only 16
  /// bits hide.
  __device__ __forceinline__ Acc Quotient(Acc exponential) const {
    const Acc product = exponential * last;
    if constexpr (sizeof(Out) == 2) {
      return product;
    } else {
      Acc left = fma(-product, sum, exponential);
      if constexpr (kWhole) {
        left = fma(-product, rest, left);
      }
      return fma(left, last, product);
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_ROW_CUH_
