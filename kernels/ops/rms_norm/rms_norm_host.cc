// rms_norm on the host: vectorised over a row, threads over rows.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/core/operator.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/segment_lookup.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/rms_norm/rms_norm_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/row_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Four accumulators hide the latency of the addition; the order depends on `count` alone.
template <typename Acc>
double SumOfSquares(const Acc* x, std::int64_t count) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto x0 = hn::LoadU(d, x + i);
    const auto x1 = hn::LoadU(d, x + i + lanes);
    const auto x2 = hn::LoadU(d, x + i + 2 * lanes);
    const auto x3 = hn::LoadU(d, x + i + 3 * lanes);
    sum0 = hn::MulAdd(x0, x0, sum0);
    sum1 = hn::MulAdd(x1, x1, sum1);
    sum2 = hn::MulAdd(x2, x2, sum2);
    sum3 = hn::MulAdd(x3, x3, sum3);
  }
  for (; i + lanes <= count; i += lanes) {
    const auto x0 = hn::LoadU(d, x + i);
    sum0 = hn::MulAdd(x0, x0, sum0);
  }
  if (i < count) {
    const auto x0 = LoadPartial(d, x + i, count - i, Acc{0});
    sum1 = hn::MulAdd(x0, x0, sum1);
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
}

/// y = (x * factor) * weight, with one weight an element, or `one_weight` for all when `weight` is null.
template <typename Acc>
void ScaleBlock(const Acc* x, std::int64_t count, Acc factor, const Acc* weight, Acc one_weight, Acc* y) {
  const hn::ScalableTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factors = hn::Set(d, factor);
  const auto one_weights = hn::Set(d, one_weight);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto weights = weight != nullptr ? hn::LoadU(d, weight + i) : one_weights;
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), factors), weights), d, y + i);
  }
  if (i < count) {
    const auto weights = weight != nullptr ? LoadPartial(d, weight + i, count - i, Acc{0}) : one_weights;
    const auto scaled = hn::Mul(LoadPartial(d, x + i, count - i, Acc{0}), factors);
    StorePartial(hn::Mul(scaled, weights), d, y + i, count - i);
  }
}

/// The rows of one request. Lives on the stack; nothing is allocated.
template <typename Acc>
class RowNormaliser {
 public:
  RowNormaliser(const RmsNormParams& params, const Segment& segment)
      : params_(params),
        weight_(segment.inputs[kRmsNormWeightInput]),
        parameter_(UnpackRowParameter(segment.extents[kRowWeight])) {
    if (parameter_.kind == RowParameterKind::kOne) {
      one_weight_ = static_cast<Acc>(ReadScalar(parameter_.dtype, weight_, 0));
    }
    if (params_.width <= kBlock) {  // then it serves every row
      row_weight_ = LoadWeight(0, params_.width);
    }
  }

  void Run(const void* x, void* y) {
    // A row of one block is converted once and stays in the buffer for the second pass.
    const bool one_block = params_.width <= kBlock;
    const Acc* block = nullptr;
    double sum = 0.0;
    for (std::int64_t first = 0; first < params_.width; first += kBlock) {
      const std::int64_t count = BlockCount(first);
      block = LoadBlock(params_.x_type, x, first, count, x_buffer_.values);
      sum += SumOfSquares(block, count);
    }
    const double mean_square = sum / static_cast<double>(params_.width);
    if (sizeof(Acc) == sizeof(float) && MeanSquareLeavesF32(mean_square, params_.epsilon)) {
      RunInF64(x, y);
      return;
    }
    const auto factor = static_cast<Acc>(1.0 / std::sqrt(mean_square + params_.epsilon));
    for (std::int64_t first = 0; first < params_.width; first += kBlock) {
      const std::int64_t count = BlockCount(first);
      if (!one_block) {
        block = LoadBlock(params_.x_type, x, first, count, x_buffer_.values);
      }
      const Acc* weight = one_block ? row_weight_ : LoadWeight(first, count);
      Acc* place = PlaceOfBlock(params_.y_type, y, first, x_buffer_.values);
      ScaleBlock(block, count, factor, weight, one_weight_, place);
      StoreBlock(params_.y_type, place, count, y, first);
    }
  }

 private:
  std::int64_t BlockCount(std::int64_t first) const {
    return params_.width - first < kBlock ? params_.width - first : kBlock;
  }

  const Acc* LoadWeight(std::int64_t first, std::int64_t count) {
    return parameter_.kind == RowParameterKind::kRow
               ? LoadBlock(parameter_.dtype, weight_, first, count, weight_buffer_.values)
               : nullptr;
  }

  /// For the rare row that f32 cannot hold the squares of: plain and slow.
  void RunInF64(const void* x, void* y) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < params_.width; ++i) {
      const double value = ReadScalar(params_.x_type, x, i);
      sum += value * value;
    }
    const double factor = 1.0 / std::sqrt(sum / static_cast<double>(params_.width) + params_.epsilon);
    for (std::int64_t i = 0; i < params_.width; ++i) {
      const double weight = parameter_.kind == RowParameterKind::kRow ? ReadScalar(parameter_.dtype, weight_, i)
                                                                      : static_cast<double>(one_weight_);
      WriteScalar(params_.y_type, ReadScalar(params_.x_type, x, i) * factor * weight, y, i);
    }
  }

  const RmsNormParams& params_;
  const void* weight_;
  RowParameter parameter_;
  Acc one_weight_ = Acc{1};
  const Acc* row_weight_ = nullptr;
  BlockBuffer<Acc> x_buffer_;
  BlockBuffer<Acc> weight_buffer_;
};

template <typename Acc>
void NormaliseSegmentRows(const RmsNormParams& params, const Segment& segment, std::int64_t first, std::int64_t last) {
  RowNormaliser<Acc> normaliser(params, segment);
  const std::int64_t x_stride = segment.extents[kRowStrideX] * static_cast<std::int64_t>(SizeOf(params.x_type));
  const std::int64_t y_stride = segment.extents[kRowStrideY] * static_cast<std::int64_t>(SizeOf(params.y_type));
  const auto* x = static_cast<const std::byte*>(segment.inputs[kRmsNormX]);
  auto* y = static_cast<std::byte*>(segment.outputs[0]);
  for (std::int64_t row = first; row < last; ++row) {
    normaliser.Run(x + row * x_stride, y + row * y_stride);
  }
}

void NormaliseRows(const RmsNormParams& params, const Launch& launch, std::int64_t begin, std::int64_t end) {
  const bool f64 = ComputesInF64(params.x_type, params.y_type);
  ForEachSegmentRange(launch.segments, launch.segment_count, begin, end,
                      [&](const Segment& segment, std::int64_t first, std::int64_t last) {
                        if (f64) {
                          NormaliseSegmentRows<double>(params, segment, first, last);
                        } else {
                          NormaliseSegmentRows<float>(params, segment, first, last);
                        }
                      });
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(NormaliseRows);

struct RmsNormRun {
  RmsNormParams params;
  const Launch& launch;

  void Rows(std::int64_t begin, std::int64_t end) const {
    HWY_DYNAMIC_DISPATCH(NormaliseRows)(params, launch, begin, end);
  }
};

}  // namespace

absl::Status RunRmsNormHost(const Launch& launch, ParallelExecutor& threads) {
  const RmsNormRun run{launch.plan->Params<RmsNormParams>(), launch};
  const auto element_bytes = static_cast<std::int64_t>(SizeOf(run.params.x_type) + SizeOf(run.params.y_type));
  ForEachPieceOfWork(run, launch.total_rows, run.params.width * element_bytes, threads);
  return absl::OkStatus();
}

}  // namespace kernelwire
#endif  // HWY_ONCE
