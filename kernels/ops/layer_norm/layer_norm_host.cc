// layer_norm on the host: vectorised over a row, threads over rows and over parts of long ones.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/core/operator.h"
#include "kernels/ops/layer_norm/layer_norm.h"
#include "kernels/primitives/row_moments.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_work.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/layer_norm/layer_norm_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/row_block-inl.h"
#include "kernels/primitives/row_moments-inl.h"
#include "kernels/primitives/row_parameter-inl.h"
#include "kernels/primitives/row_work-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// (x - mean) / deviation * weight + bias. The mean is `center`, from which x is exactly subtracted where it is near,
/// and a rest that was multiplied by `factor` beforehand.
template <typename Acc>
struct Normalised {
  Acc center;
  Acc factor;  // 1 / sqrt(variance + epsilon)
  Acc shift;   // (center - mean) * factor
  const Acc* weight;
  const Acc* bias;

  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t i, std::int64_t count) const {
    const auto centered = hn::Sub(x, hn::Set(d, center));
    const auto normalised = hn::MulAdd(centered, hn::Set(d, factor), hn::Set(d, shift));
    return hn::MulAdd(normalised, Operand<kWhole>(d, weight, i, count), Operand<kWhole>(d, bias, i, count));
  }
};

struct LayerNormStatistics {
  double mean;
  double inv_std_dev;
  bool in_f64;  // f32 could not hold the sums
};

/// Rows of one request (see row_work-inl.h).
template <typename Acc>
class LayerNormRow {
 public:
  using Params = LayerNormParams;
  using Partial = Moments;
  using Statistics = LayerNormStatistics;
  static constexpr bool kKeepsNothing = true;

  LayerNormRow(const LayerNormParams& params, const Segment& segment)
      : params_(params),
        segment_(segment),
        ahead_(params.width * static_cast<std::int64_t>(SizeOf(params.x_type))),
        weight_(segment.extents[kRowWeight], segment.inputs[kLayerNormWeightInput], Acc{1}, params.width),
        bias_(segment.extents[kRowBias], segment.inputs[kLayerNormBiasInput], Acc{0}, params.width) {}

  Moments Gather(std::int64_t row, std::int64_t begin, std::int64_t end) {
    Moments moments = OfBlock(row, begin, std::min(kBlock, end - begin));
    ForEachBlock(begin + kBlock, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      moments = HWY_NAMESPACE::Merge(moments, OfBlock(row, first, count));
    });
    return moments;
  }

  static Moments Merge(const Moments& first, const Moments& second) { return HWY_NAMESPACE::Merge(first, second); }

  Statistics Settle(std::int64_t row, const Moments& whole) {
    if (params_.width == 0) {
      constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
      return {kNan, kNan, false};
    }
    const double variance = whole.squares / whole.count;
    if (std::is_same_v<Acc, float> && MomentsLeaveF32(whole.mean, variance, params_.epsilon)) {
      return SettleInF64(row);
    }
    return {whole.mean, 1.0 / std::sqrt(variance + params_.epsilon), false};
  }

  void Write(std::int64_t row, const Statistics& statistics, const Moments& /*part*/, std::int64_t begin,
             std::int64_t end) {
    if (std::is_same_v<Acc, float> && statistics.in_f64) {
      WriteInF64(row, statistics, begin, end);
      return;
    }
    if (begin == 0) {
      WriteStatistics(row, statistics);
    }
    if (segment_.outputs[kLayerNormY] == nullptr) {
      return;
    }
    ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      MapBlock(params_.x_type, X(row, first), count, NormalisedBy(statistics, first, count), params_.y_type,
               Y(row, first), buffer_.values, ahead_.last);
    });
  }

 private:
  Moments OfBlock(std::int64_t row, std::int64_t first, std::int64_t count) {
    return count == 0 ? Moments{} : MomentsOfBlock(params_.x_type, X(row, first), count, buffer_.values, ahead_.first);
  }

  const void* X(std::int64_t row, std::int64_t first) const {
    return At(params_.x_type, segment_.inputs[kLayerNormX], row * segment_.extents[kRowStrideX] + first);
  }
  void* Y(std::int64_t row, std::int64_t first) const {
    return At(params_.y_type, segment_.outputs[kLayerNormY], row * segment_.extents[kRowStrideY] + first);
  }

  Normalised<Acc> NormalisedBy(const Statistics& statistics, std::int64_t first, std::int64_t count) {
    const auto center = static_cast<Acc>(statistics.mean);
    const double rest = static_cast<double>(center) - statistics.mean;
    return {center, static_cast<Acc>(statistics.inv_std_dev), static_cast<Acc>(rest * statistics.inv_std_dev),
            weight_.Block(first, count), bias_.Block(first, count)};
  }

  void WriteStatistics(std::int64_t row, const Statistics& statistics) const {
    const DataType dtype = LayerNormStatisticsType(params_.x_type);
    if (void* const mean = segment_.outputs[kLayerNormMean]; mean != nullptr) {
      WriteScalar(dtype, statistics.mean, mean, row);
    }
    if (void* const inv_std_dev = segment_.outputs[kLayerNormInvStdDev]; inv_std_dev != nullptr) {
      WriteScalar(dtype, statistics.inv_std_dev, inv_std_dev, row);
    }
  }

  // For the rare row; out of line, so that the room on the stack is taken only then.
  HWY_NOINLINE Statistics SettleInF64(std::int64_t row) const {
    LayerNormRow<double> rows(params_, segment_);
    Statistics settled = rows.Settle(row, rows.Gather(row, 0, params_.width));
    settled.in_f64 = true;
    return settled;
  }
  HWY_NOINLINE void WriteInF64(std::int64_t row, const Statistics& statistics, std::int64_t begin,
                               std::int64_t end) const {
    LayerNormRow<double>(params_, segment_).Write(row, statistics, {}, begin, end);
  }

  const LayerNormParams& params_;
  const Segment& segment_;
  RowsAhead ahead_;
  BlockParameter<Acc> weight_;
  BlockParameter<Acc> bias_;
  BlockBuffer<Acc> buffer_;
};

RowFunctions LayerNormWork(bool f64) {
  return f64 ? RowFunctionsOf<LayerNormRow<double>>::Functions() : RowFunctionsOf<LayerNormRow<float>>::Functions();
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(LayerNormWork);

}  // namespace

absl::Status RunLayerNormHost(const Launch& launch, ParallelExecutor& threads) {
  const auto params = launch.plan->Params<LayerNormParams>();
  const auto element_bytes = static_cast<std::int64_t>(SizeOf(params.x_type) + SizeOf(params.y_type));
  RunRows(HWY_DYNAMIC_DISPATCH(LayerNormWork)(ComputesInF64(params.x_type, params.y_type)), launch, params.width,
          params.width * element_bytes, threads);
  return absl::OkStatus();
}

}  // namespace kernelwire
#endif  // HWY_ONCE
