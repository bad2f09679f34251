// A row's root mean square and its results on the host, for rms_norm and for add_rms_norm, which normalises a sum: the
// same code, and so the same bits. Included once per Highway target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ROW_INL_H_
#undef KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ROW_INL_H_
#else
#define KERNELWIRE_KERNELS_OPS_RMS_NORM_RMS_NORM_ROW_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/row_block-inl.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_parameter-inl.h"
#include "kernels/primitives/row_work-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

struct AddSquare {
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Add(D /*d*/, hn::Vec<D> x, std::int64_t /*i*/, std::int64_t /*count*/, hn::Vec<D> sum) const {
    return hn::MulAdd(x, x, sum);
  }
};

/// (x * factor) * weight
template <typename Acc>
struct RmsScaled {
  Acc factor;
  const Acc* weight;

  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t i, std::int64_t count) const {
    return hn::Mul(hn::Mul(x, hn::Set(d, factor)), Operand<kWhole>(d, weight, i, count));
  }
};

struct RmsStatistics {
  double factor;  // 1 / root mean square
  bool in_f64;    // f32 could not hold the squares
};

/// Rows (see row_work-inl.h) that `Source` brings, an element type of x_type:
///   Source(const RmsNormParams&, const Segment&);
///   const void* First(row, first, count), const void* Again(row, first, count): a block, the first time and later;
///   kWeight, kY: numbers of the weight among the inputs, of y among the outputs.
template <typename Acc, class Source>
class RmsNormRow {
 public:
  using Params = RmsNormParams;
  using Partial = double;  // sum of squares
  using Statistics = RmsStatistics;
  static constexpr bool kKeepsNothing = true;

  RmsNormRow(const RmsNormParams& params, const Segment& segment)
      : params_(params),
        segment_(segment),
        source_(params, segment),
        ahead_(params.width * static_cast<std::int64_t>(SizeOf(params.x_type))),
        weight_(segment.extents[kRowWeight], segment.inputs[Source::kWeight], Acc{1}, params.width) {}

  double Gather(std::int64_t row, std::int64_t begin, std::int64_t end) {
    double sum = 0.0;
    ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      sum += SumBlock(params_.x_type, source_.First(row, first, count), count, Acc{0}, AddSquare{}, buffer_.values,
                      ahead_.first);
    });
    return sum;
  }

  static double Merge(double first, double second) { return first + second; }

  Statistics Settle(std::int64_t row, double sum) {
    const double mean_square = sum / static_cast<double>(params_.width);
    if (std::is_same_v<Acc, float> && MeanSquareLeavesF32(mean_square, params_.epsilon)) {
      return SettleInF64(row);
    }
    return {1.0 / std::sqrt(mean_square + params_.epsilon), false};
  }

  void Write(std::int64_t row, const Statistics& statistics, double /*part*/, std::int64_t begin, std::int64_t end) {
    if (segment_.outputs[Source::kY] == nullptr) {
      return;
    }
    if (std::is_same_v<Acc, float> && statistics.in_f64) {
      WriteInF64(row, statistics, begin, end);
      return;
    }
    void* const y = At(params_.y_type, segment_.outputs[Source::kY], row * segment_.extents[kRowStrideY]);
    ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      const RmsScaled<Acc> scaled{static_cast<Acc>(statistics.factor), weight_.Block(first, count)};
      MapBlock(params_.x_type, source_.Again(row, first, count), count, scaled, params_.y_type,
               At(params_.y_type, y, first), buffer_.values, ahead_.last);
    });
  }

  /// Of a row whose blocks have been brought once.
  Statistics SettleAgain(std::int64_t row) {
    double sum = 0.0;
    ForEachBlock(0, params_.width, kBlock, [&](std::int64_t first, std::int64_t count) {
      sum += SumBlock(params_.x_type, source_.Again(row, first, count), count, Acc{0}, AddSquare{}, buffer_.values);
    });
    return {1.0 / std::sqrt(sum / static_cast<double>(params_.width) + params_.epsilon), true};
  }

 private:
  // For the rare row; out of line, so that the room on the stack is taken only then.
  HWY_NOINLINE Statistics SettleInF64(std::int64_t row) const {
    return RmsNormRow<double, Source>(params_, segment_).SettleAgain(row);
  }
  HWY_NOINLINE void WriteInF64(std::int64_t row, Statistics statistics, std::int64_t begin, std::int64_t end) const {
    RmsNormRow<double, Source>(params_, segment_).Write(row, statistics, {}, begin, end);
  }

  const RmsNormParams& params_;
  const Segment& segment_;
  Source source_;
  RowsAhead ahead_;
  BlockParameter<Acc> weight_;
  BlockBuffer<Acc> buffer_;
};

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
