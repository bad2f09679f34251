// A row of softmax, and where it lies.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_ROW_CUH_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_ROW_CUH_

#include <cstdint>

#include "kernels/device/early_reads.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_usual.cuh"
#include "kernels/primitives/row_vectors.cuh"
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

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_ROW_CUH_
