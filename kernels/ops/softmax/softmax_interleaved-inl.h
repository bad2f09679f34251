// softmax and log_softmax on the host along an axis that is not the last: a row's elements lie apart, those of its
// neighbours between them. Included once per Highway target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_INL_H_
#undef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_INL_H_
#else
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_INTERLEAVED_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/softmax/softmax_family.h"
#include "kernels/primitives/row_block-inl.h"
#include "kernels/primitives/row_exp-inl.h"
#include "kernels/primitives/segment_lookup.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Interleaved rows: up to kInterleavedRowsOfATile neighbours at a time, whose elements of one index lie side by side.
/// Every lane is a row of its own, so a row's bits do not depend on its neighbours. Maximum first, whatever `algorithm`
/// says.
template <typename Acc, SoftmaxResult kResult>
class InterleavedSoftmax {
 public:
  explicit InterleavedSoftmax(const SoftmaxParams& params) : params_(params) {}

  /// Rows [first, first + count) of the piece at x. Requires: count <= kInterleavedRowsOfATile.
  void Run(const void* x, void* y, std::int64_t first, std::int64_t count) {
    constexpr std::int64_t kFold = 64;  // partial sums run this long in the accumulation type, and on in f64
    std::fill_n(maximum_, count, -std::numeric_limits<Acc>::infinity());
    std::fill_n(sum_, count, 0.0);
    for (std::int64_t i = 0; i < params_.width; ++i) {
      MaximumEach(Load(x, i * params_.inner + first, count), count, maximum_);
    }
    for (std::int64_t start = 0; start < params_.width; start += kFold) {
      std::fill_n(last_, count, Acc{0});
      const std::int64_t end = std::min(start + kFold, params_.width);
      for (std::int64_t i = start; i < end; ++i) {
        AddExpEach(Load(x, i * params_.inner + first, count), count, maximum_, last_);
      }
      for (std::int64_t j = 0; j < count; ++j) {
        sum_[j] += static_cast<double>(last_[j]);
      }
    }
    for (std::int64_t j = 0; j < count; ++j) {
      last_[j] = static_cast<Acc>(kResult == SoftmaxResult::kLogarithms ? std::log(sum_[j]) : 1.0 / sum_[j]);
    }
    for (std::int64_t i = 0; i < params_.width; ++i) {
      Write(At(params_.x_type, x, i * params_.inner + first), count, At(params_.y_type, y, i * params_.inner + first));
    }
  }

 private:
  const Acc* Load(const void* x, std::int64_t first, std::int64_t count) {
    return LoadBlock(params_.x_type, At(params_.x_type, x, first), count, buffer_);
  }

  void Write(const void* x, std::int64_t count, void* y) {
    if constexpr (kResult == SoftmaxResult::kLogarithms) {
      MapBlock(params_.x_type, x, count, MinusTwoEach<Acc>{maximum_, last_}, params_.y_type, y, buffer_);
    } else {
      MapBlock(params_.x_type, x, count, ScaledExpEach<Acc>{maximum_, last_}, params_.y_type, y, buffer_);
    }
  }

  const SoftmaxParams& params_;
  HWY_ALIGN Acc buffer_[kInterleavedRowsOfATile];
  HWY_ALIGN Acc maximum_[kInterleavedRowsOfATile];
  HWY_ALIGN Acc last_[kInterleavedRowsOfATile];  // partial sums; in the end factors, or logarithms of sums
  HWY_ALIGN double sum_[kInterleavedRowsOfATile];
};

/// Tiles [begin, end) of the launch, numbered piece by piece.
template <typename Acc, SoftmaxResult kResult>
void InterleavedTiles(const Launch& launch, std::int64_t begin, std::int64_t end) {
  const auto params = launch.plan->Params<SoftmaxParams>();
  InterleavedSoftmax<Acc, kResult> softmax(params);
  const std::int64_t tiles = (params.inner + kInterleavedRowsOfATile - 1) / kInterleavedRowsOfATile;
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const std::int64_t piece = tile / tiles;
    const Segment& segment = launch.segments[FindSegment(launch.segments, launch.segment_count, piece)];
    const std::int64_t index = piece - segment.first_row;
    const std::int64_t first = (tile % tiles) * kInterleavedRowsOfATile;
    softmax.Run(At(params.x_type, segment.inputs[0], index * segment.extents[kRowStrideX]),
                At(params.y_type, segment.outputs[0], index * segment.extents[kRowStrideY]), first,
                std::min(params.inner - first, kInterleavedRowsOfATile));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
