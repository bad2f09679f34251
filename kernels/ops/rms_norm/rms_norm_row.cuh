// A row of rms_norm: where it lies.
#ifndef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ROW_CUH_
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ROW_CUH_

#include <cstdint>

#include "kernels/device/early_reads.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/norm_params.h"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_usual.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/segment_table.cuh"

namespace kernelwire {

struct RmsNormArguments {
  SegmentTable table;
  std::uint32_t* tickets;  // Launch::tickets
  std::int64_t total_rows;
  std::int64_t width;
  NormEpsilon epsilon;
  WidthReciprocal reciprocal;
  EarlyReads early;
  RowTuning tuning;
};

/// Where one row of one request lies, and what scales it.
template <typename T, typename Out>
struct RmsNormRow : RowAndResult<T, Out> {
  const void* weight;
  std::int64_t weight_word;
};

template <typename T, typename Out>
__device__ __forceinline__ RmsNormRow<T, Out> RmsNormRowAt(const RmsNormArguments& arguments, std::int64_t row) {
  return arguments.table.PickOf(row, [&](const Segment& segment) -> RmsNormRow<T, Out> {
    const std::int64_t index = row - segment.first_row;
    return {
        {RowSourceAt<T>(segment.inputs[kRmsNormX], index, segment.rows, segment.extents[kRowStrideX], arguments.width),
         static_cast<Out*>(segment.outputs[0]) + index * segment.extents[kRowStrideY]},
        segment.inputs[kRmsNormWeightInput],
        segment.extents[kRowWeight]};
  });
}

/// The same in the usual launch.
template <typename T>
__device__ __forceinline__ RmsNormRow<T, T> UsualRmsNormRowAt(const RmsNormArguments& arguments, std::int64_t row) {
  const Segment& only = arguments.table.only;
  return {{UsualSourceAt<T>(only.inputs[kRmsNormX], row, arguments.total_rows, arguments.width),
           UsualRowAt(static_cast<T*>(only.outputs[0]), row, arguments.width)},
          UsualParameterAt(only.inputs[kRmsNormWeightInput]),
          kUsualParameter<T>};
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ROW_CUH_
