// softmax on the host: vectorised along a row, or across neighbouring rows where they are interleaved; threads over
// rows.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/core/operator.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/segment_lookup.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/softmax/softmax_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/row_block-inl.h"
#include "kernels/primitives/row_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// The maximum of a row's elements, and their sum of exp(x - OffsetOf(maximum)).
///
/// A NaN need not survive in `maximum`, since its exponential makes `sum` NaN and with it every y of the row. The same
/// goes for +infinity, whose exponential is exp(inf - inf).
template <typename Acc>
struct RowStatistics {
  Acc maximum = -std::numeric_limits<Acc>::infinity();
  double sum = 0.0;
};

/// Contiguous rows. Lives on the stack; nothing is allocated.
template <typename Acc>
class RowSoftmax {
 public:
  explicit RowSoftmax(const SoftmaxParams& params) : params_(params) {}

  void Run(const void* x, void* y) {
    if (params_.width <= kBlock && params_.algorithm != SoftmaxAlgorithm::kOnline) {
      RunOneBlock(x, y);
      return;
    }
    const RowStatistics<Acc> row = params_.algorithm == SoftmaxAlgorithm::kSafe ? SafePasses(x) : OnlinePass(x);
    const auto factor = static_cast<Acc>(1.0 / row.sum);
    for (std::int64_t first = 0; first < params_.width; first += kBlock) {
      const std::int64_t count = BlockCount(first);
      const Acc* block = Load(x, first, count);
      Acc* place = PlaceOfBlock(params_.y_type, y, first, buffer_.values);
      ExpBlock(block, count, row.maximum, factor, place);
      StoreBlock(params_.y_type, place, count, y, first);
    }
  }

 private:
  /// The exponentials stay in the buffer (or in y), so that each is computed once.
  void RunOneBlock(const void* x, void* y) {
    const std::int64_t count = params_.width;
    const Acc* block = Load(x, 0, count);
    Acc* place = PlaceOfBlock(params_.y_type, y, 0, buffer_.values);
    const Acc maximum = MaximumOfBlock(block, count);
    const double sum = SumExpOfBlock(block, count, maximum, place);
    ScaleInPlace(place, count, static_cast<Acc>(1.0 / sum));
    StoreBlock(params_.y_type, place, count, y, 0);
  }

  RowStatistics<Acc> SafePasses(const void* x) {
    RowStatistics<Acc> row;
    for (std::int64_t first = 0; first < params_.width; first += kBlock) {
      const std::int64_t count = BlockCount(first);
      row.maximum = std::max(row.maximum, MaximumOfBlock(Load(x, first, count), count));
    }
    for (std::int64_t first = 0; first < params_.width; first += kBlock) {
      const std::int64_t count = BlockCount(first);
      row.sum += SumExpOfBlock<Acc>(Load(x, first, count), count, row.maximum, nullptr);
    }
    return row;
  }

  /// Block by block, as in M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018. While there
  /// was nothing but -infinity, -infinity is not subtracted (that would be NaN): such elements count 0.
  RowStatistics<Acc> OnlinePass(const void* x) {
    RowStatistics<Acc> row;
    for (std::int64_t first = 0; first < params_.width; first += kBlock) {
      const std::int64_t count = BlockCount(first);
      const Acc* block = Load(x, first, count);
      const Acc maximum = std::max(row.maximum, MaximumOfBlock(block, count));
      const Acc offset = OffsetOf(maximum);
      row.sum *= std::exp(static_cast<double>(row.maximum - offset));
      row.sum += SumExpOfBlock<Acc>(block, count, offset, nullptr);
      row.maximum = maximum;
    }
    return row;
  }

  static Acc OffsetOf(Acc maximum) { return maximum == -std::numeric_limits<Acc>::infinity() ? Acc{0} : maximum; }

  std::int64_t BlockCount(std::int64_t first) const { return std::min(params_.width - first, kBlock); }

  const Acc* Load(const void* x, std::int64_t first, std::int64_t count) {
    return LoadBlock(params_.x_type, x, first, count, buffer_.values);
  }

  const SoftmaxParams& params_;
  BlockBuffer<Acc> buffer_;
};

/// Interleaved rows: up to kInterleavedRowsOfATile neighbours at a time, whose elements of one index lie side by side.
/// Every lane is a row of its own, so a row's bits do not depend on its neighbours. Maximum first, whatever `algorithm`
/// says.
template <typename Acc>
class ColumnSoftmax {
 public:
  explicit ColumnSoftmax(const SoftmaxParams& params) : params_(params) {}

  /// Rows [first, first + count) of the piece at x. Requires: count <= kInterleavedRowsOfATile.
  void Run(const void* x, void* y, std::int64_t first, std::int64_t count) {
    constexpr std::int64_t kFold = 64;  // partial sums run this long in the accumulation type, and on in f64
    std::fill_n(maximum_, count, -std::numeric_limits<Acc>::infinity());
    std::fill_n(sum_, count, 0.0);
    for (std::int64_t i = 0; i < params_.width; ++i) {
      MaximumEach(Load(x, i * params_.inner + first, count), count, maximum_);
    }
    for (std::int64_t start = 0; start < params_.width; start += kFold) {
      std::fill_n(partial_, count, Acc{0});
      const std::int64_t end = std::min(start + kFold, params_.width);
      for (std::int64_t i = start; i < end; ++i) {
        AddExpEach(Load(x, i * params_.inner + first, count), count, maximum_, partial_);
      }
      for (std::int64_t j = 0; j < count; ++j) {
        sum_[j] += static_cast<double>(partial_[j]);
      }
    }
    for (std::int64_t j = 0; j < count; ++j) {
      partial_[j] = static_cast<Acc>(1.0 / sum_[j]);
    }
    for (std::int64_t i = 0; i < params_.width; ++i) {
      const std::int64_t at = i * params_.inner + first;
      const Acc* block = Load(x, at, count);
      Acc* place = PlaceOfBlock(params_.y_type, y, at, buffer_);
      ExpEach(block, count, maximum_, partial_, place);
      StoreBlock(params_.y_type, place, count, y, at);
    }
  }

 private:
  const Acc* Load(const void* x, std::int64_t first, std::int64_t count) {
    return LoadBlock(params_.x_type, x, first, count, buffer_);
  }

  const SoftmaxParams& params_;
  HWY_ALIGN Acc buffer_[kInterleavedRowsOfATile];
  HWY_ALIGN Acc maximum_[kInterleavedRowsOfATile];
  HWY_ALIGN Acc partial_[kInterleavedRowsOfATile];  // of the sums; in the end the factors
  HWY_ALIGN double sum_[kInterleavedRowsOfATile];
};

template <typename Acc>
void SoftmaxContiguous(const SoftmaxParams& params, const Segment& segment, std::int64_t first, std::int64_t last) {
  RowSoftmax<Acc> softmax(params);
  const std::int64_t x_stride = segment.extents[kRowStrideX] * static_cast<std::int64_t>(SizeOf(params.x_type));
  const std::int64_t y_stride = segment.extents[kRowStrideY] * static_cast<std::int64_t>(SizeOf(params.y_type));
  const auto* x = static_cast<const std::byte*>(segment.inputs[0]);
  auto* y = static_cast<std::byte*>(segment.outputs[0]);
  for (std::int64_t row = first; row < last; ++row) {
    softmax.Run(x + row * x_stride, y + row * y_stride);
  }
}

void SoftmaxRows(const SoftmaxParams& params, const Launch& launch, std::int64_t begin, std::int64_t end) {
  const bool f64 = ComputesInF64(params.x_type, params.y_type);
  ForEachSegmentRange(launch.segments, launch.segment_count, begin, end,
                      [&](const Segment& segment, std::int64_t first, std::int64_t last) {
                        if (f64) {
                          SoftmaxContiguous<double>(params, segment, first, last);
                        } else {
                          SoftmaxContiguous<float>(params, segment, first, last);
                        }
                      });
}

template <typename Acc>
void SoftmaxColumns(const SoftmaxParams& params, const Launch& launch, std::int64_t begin, std::int64_t end) {
  ColumnSoftmax<Acc> softmax(params);
  const std::int64_t tiles = (params.inner + kInterleavedRowsOfATile - 1) / kInterleavedRowsOfATile;
  const std::int64_t piece_elements = params.width * params.inner;
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const std::int64_t piece = tile / tiles;
    const Segment& segment = launch.segments[FindSegment(launch.segments, launch.segment_count, piece)];
    const std::int64_t offset = (piece - segment.first_row) * piece_elements;
    const auto* x = static_cast<const std::byte*>(segment.inputs[0]);
    auto* y = static_cast<std::byte*>(segment.outputs[0]);
    const std::int64_t first = (tile % tiles) * kInterleavedRowsOfATile;
    softmax.Run(x + offset * static_cast<std::int64_t>(SizeOf(params.x_type)),
                y + offset * static_cast<std::int64_t>(SizeOf(params.y_type)), first,
                std::min(params.inner - first, kInterleavedRowsOfATile));
  }
}

void SoftmaxTiles(const SoftmaxParams& params, const Launch& launch, std::int64_t begin, std::int64_t end) {
  if (ComputesInF64(params.x_type, params.y_type)) {
    SoftmaxColumns<double>(params, launch, begin, end);
  } else {
    SoftmaxColumns<float>(params, launch, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(SoftmaxRows);
HWY_EXPORT(SoftmaxTiles);

struct ContiguousRun {
  SoftmaxParams params;
  const Launch& launch;

  void Rows(std::int64_t begin, std::int64_t end) const {
    HWY_DYNAMIC_DISPATCH(SoftmaxRows)(params, launch, begin, end);
  }
};

struct InterleavedRun {
  SoftmaxParams params;
  const Launch& launch;

  void Rows(std::int64_t begin, std::int64_t end) const {
    HWY_DYNAMIC_DISPATCH(SoftmaxTiles)(params, launch, begin, end);
  }
};

}  // namespace

absl::Status RunSoftmaxHost(const Launch& launch, ParallelExecutor& threads) {
  const auto params = launch.plan->Params<SoftmaxParams>();
  const std::int64_t row_bytes =
      params.width * static_cast<std::int64_t>(SizeOf(params.x_type) + SizeOf(params.y_type));
  if (params.inner <= 1) {
    ForEachPieceOfWork(ContiguousRun{params, launch}, launch.total_rows, row_bytes, threads);
  } else {
    const std::int64_t tiles = (params.inner + kInterleavedRowsOfATile - 1) / kInterleavedRowsOfATile;
    const std::int64_t tile_rows = std::min(params.inner, kInterleavedRowsOfATile);
    ForEachPieceOfWork(InterleavedRun{params, launch}, launch.total_rows * tiles, row_bytes * tile_rows, threads);
  }
  return absl::OkStatus();
}

}  // namespace kernelwire
#endif  // HWY_ONCE
