// A row of layer_norm, and what becomes of it once its moments are known.
#ifndef KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_ROW_CUH_
#define KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_ROW_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/device/early_reads.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/primitives/inverse_root.cuh"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_usual.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/segment_table.cuh"

namespace kernelwire {

struct LayerNormArguments {
  SegmentTable table;
  std::uint32_t* tickets;  // Launch::tickets
  std::int64_t total_rows;
  std::int64_t width;
  NormEpsilon epsilon;
  WidthReciprocal reciprocal;
  EarlyReads early;
  RowTuning tuning;
};

/// Where one row of one request lies, and what scales and shifts it. Outputs that nobody asked for are null.
template <typename T, typename Out>
struct LayerNormRow : RowAndResult<T, Out> {
  using Statistic = std::conditional_t<std::is_same_v<T, double>, double, float>;
  Statistic* mean;
  Statistic* inv_std_dev;
  const void* weight;
  std::int64_t weight_word;
  const void* bias;
  std::int64_t bias_word;
};

template <typename T, typename Out>
__device__ __forceinline__ LayerNormRow<T, Out> LayerNormRowAt(const LayerNormArguments& arguments, std::int64_t row) {
  return arguments.table.PickOf(row, [&](const Segment& segment) -> LayerNormRow<T, Out> {
    using Statistic = typename LayerNormRow<T, Out>::Statistic;
    const std::int64_t index = row - segment.first_row;
    const auto output = [&](int output_index, std::int64_t offset, auto* null) {
      using Element = std::remove_pointer_t<decltype(null)>;
      auto* const data = static_cast<Element*>(segment.outputs[output_index]);
      return data == nullptr ? data : data + offset;
    };
    return {{RowSourceAt<T>(segment.inputs[kLayerNormX], index, segment.rows, segment.extents[kRowStrideX],
                            arguments.width),
             output(kLayerNormY, index * segment.extents[kRowStrideY], static_cast<Out*>(nullptr))},
            output(kLayerNormMean, index, static_cast<Statistic*>(nullptr)),
            output(kLayerNormInvStdDev, index, static_cast<Statistic*>(nullptr)),
            segment.inputs[kLayerNormWeightInput],
            segment.extents[kRowWeight],
            segment.inputs[kLayerNormBiasInput],
            segment.extents[kRowBias]};
  });
}

/// The same in the usual launch, which asks for y alone.
template <typename T>
__device__ __forceinline__ LayerNormRow<T, T> UsualLayerNormRowAt(const LayerNormArguments& arguments,
                                                                  std::int64_t row) {
  const Segment& only = arguments.table.only;
  return {{UsualSourceAt<T>(only.inputs[kLayerNormX], row, arguments.total_rows, arguments.width),
           UsualRowAt(static_cast<T*>(only.outputs[kLayerNormY]), row, arguments.width)},
          nullptr,
          nullptr,
          UsualParameterAt(only.inputs[kLayerNormWeightInput]),
          kUsualParameter<T>,
          UsualParameterAt(only.inputs[kLayerNormBiasInput]),
          kUsualParameter<T>};
}

/// What elements of a row become y by, where `Factor` is what they are multiplied by.
template <typename Acc, typename Factor>
struct Normalisation {
  Acc mean;
  Factor inv_std_dev;
  Acc shift;  // what the mean lacks, so multiplied

  __device__ __forceinline__ Normalisation(const Moments<Acc>& moments, const Factor& factor)
      : mean(moments.first_mean), inv_std_dev(factor) {
    Acc rest = moments.correction;
    if constexpr (std::is_same_v<Factor, TwoPartFactor>) {
      // Most elements less a mean of so few digits are exact. One that is large beside the deviation has none to spare.
      const float large = 8.0F * PowerNearRoot(moments.variance);
      const float short_mean = __fsub_rn(__fadd_rn(mean, large), large);
      const bool is_short = moments.variance > 0.0F && fabsf(mean) < 0.25F * large;  // equal ones: their mean is exact
      rest += is_short ? mean - short_mean : 0.0F;
      mean = is_short ? short_mean : mean;
    }
    shift = -(rest * static_cast<Acc>(factor));
  }
};

/// y of one vector, in place: ((x - mean) * inv_std_dev) * weight + bias.
template <int kLength, typename Acc, typename Factor>
__device__ __forceinline__ void Normalise(const Normalisation<Acc, Factor>& row, const Acc (&weights)[kLength],
                                          const Acc (&biases)[kLength], Acc (&values)[kLength]) {
#pragma unroll
  for (int j = 0; j < kLength; ++j) {
    const Acc scaled = TimesPlus(values[j] - row.mean, row.inv_std_dev, row.shift);
    values[j] = fma(scaled, weights[j], biases[j]);
  }
}

template <typename Acc, typename Row, typename Group, typename Factor>
__device__ __forceinline__ void StoreStatistics(const Group& group, const Row& row, const Moments<Acc>& moments,
                                                const Factor& inv_std_dev) {
  using Statistic = typename Row::Statistic;
  if (group.rank() == 0) {
    if (row.mean != nullptr) {
      *row.mean = static_cast<Statistic>(moments.Mean());
    }
    if (row.inv_std_dev != nullptr) {
      *row.inv_std_dev = static_cast<Statistic>(static_cast<Acc>(inv_std_dev));
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_LAYER_NORM_LAYER_NORM_ROW_CUH_
