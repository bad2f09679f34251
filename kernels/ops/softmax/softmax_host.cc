// softmax and log_softmax on the host: vectorised along a row, or across neighbouring rows where they are interleaved
// (softmax_interleaved-inl.h); threads over rows, and over parts of long ones.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/core/operator.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/softmax/softmax_family.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_work.h"
#include "kernels/primitives/segment_lookup.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/softmax/softmax_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/ops/softmax/softmax_interleaved-inl.h"
#include "kernels/primitives/row_block-inl.h"
#include "kernels/primitives/row_exp-inl.h"
#include "kernels/primitives/row_work-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// What is subtracted from elements whose largest is `maximum`. While there was nothing but -infinity, -infinity is not
/// subtracted (that would be NaN): such elements count 0.
template <typename Acc>
Acc OffsetOf(Acc maximum) {
  return maximum == -std::numeric_limits<Acc>::infinity() ? Acc{0} : maximum;
}

/// The maximum of some elements, and their sum of exp(x - OffsetOf(maximum)).
///
/// A NaN need not survive in `maximum`, since its exponential makes `sum` NaN and with it every y of the row. The same
/// goes for +infinity, whose exponential is exp(inf - inf).
template <typename Acc>
struct SoftmaxPartial {
  Acc maximum = -std::numeric_limits<Acc>::infinity();
  double sum = 0.0;
};

/// Contiguous rows of one request (see row_work-inl.h). Exponentials are relative to the largest element of their part
/// of the row, and are kept where that is cheaper than to compute them again when they are written, to the same bits.
template <typename Acc, SoftmaxResult kResult>
class SoftmaxRow {
 public:
  using Params = SoftmaxParams;
  using Partial = SoftmaxPartial<Acc>;
  static constexpr bool kKeepsNothing = kResult == SoftmaxResult::kLogarithms;
  struct Statistics {
    double maximum;
    double last;  // 1 / sum, or the logarithm of the sum
  };

  SoftmaxRow(const SoftmaxParams& params, const Segment& segment)
      : params_(params), segment_(segment), ahead_(params.width * static_cast<std::int64_t>(SizeOf(params.x_type))) {
    if (kResult == SoftmaxResult::kProbabilities && params.algorithm != SoftmaxAlgorithm::kOnline) {
      keeps_in_y_ = params.y_type == TypeOf<Acc>() && params.width <= kKeptInY;
      keeps_here_ = !keeps_in_y_ && static_cast<std::size_t>(params.width) <= kKeptHere;
    }
  }

  Partial Gather(std::int64_t row, std::int64_t begin, std::int64_t end) {
    return params_.algorithm == SoftmaxAlgorithm::kOnline ? OnlineSum(row, begin, end) : SafeSum(row, begin, end);
  }

  static Partial Merge(const Partial& first, const Partial& second) {
    const Acc maximum = std::max(first.maximum, second.maximum);
    const double offset = static_cast<double>(OffsetOf(maximum));
    return {maximum, first.sum * std::exp(static_cast<double>(first.maximum) - offset) +
                         second.sum * std::exp(static_cast<double>(second.maximum) - offset)};
  }

  Statistics Settle(std::int64_t /*row*/, const Partial& whole) const {
    const double last = kResult == SoftmaxResult::kLogarithms ? std::log(whole.sum) : 1.0 / whole.sum;
    return {static_cast<double>(whole.maximum), last};
  }

  void Write(std::int64_t row, const Statistics& statistics, const Partial& part, std::int64_t begin,
             std::int64_t end) {
    if constexpr (kResult == SoftmaxResult::kLogarithms) {
      const MinusTwo<Acc> logarithm{static_cast<Acc>(statistics.maximum), static_cast<Acc>(statistics.last)};
      ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
        MapBlock(params_.x_type, X(row, first), count, logarithm, params_.y_type, Y(row, first), buffer_.values,
                 ahead_.first);
      });
    } else {
      const double below = static_cast<double>(part.maximum) - statistics.maximum;
      const double factor = below == 0.0 ? statistics.last : std::exp(below) * statistics.last;
      WriteProbabilities(row, OffsetOf(part.maximum), static_cast<Acc>(factor), begin, end);
    }
  }

 private:
  // Elements of rows whose exponentials stay in y, or in this object, until the row's sum is known: what fits into a
  // second-level cache.
  static constexpr std::int64_t kKeptInY = 131072;
  static constexpr std::size_t kKeptHere = kResult == SoftmaxResult::kLogarithms ? 0 : 262144 / sizeof(Acc);

  const void* X(std::int64_t row, std::int64_t first) const {
    return At(params_.x_type, segment_.inputs[0], row * segment_.extents[kRowStrideX] + first);
  }
  void* Y(std::int64_t row, std::int64_t first) const {
    return At(params_.y_type, segment_.outputs[0], row * segment_.extents[kRowStrideY] + first);
  }

  /// Where the exponential of element `first` is kept; null: nowhere.
  Acc* Kept(std::int64_t row, std::int64_t first) {
    if (keeps_in_y_) {
      return static_cast<Acc*>(Y(row, first));
    }
    return keeps_here_ ? kept_ + first : nullptr;
  }

  /// The maximum first, then the sum.
  Partial SafeSum(std::int64_t row, std::int64_t begin, std::int64_t end) {
    Partial part;
    ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      part.maximum =
          std::max(part.maximum, MaximumOfBlock(params_.x_type, X(row, first), count, buffer_.values, ahead_.first));
    });
    const Acc offset = OffsetOf(part.maximum);
    ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      part.sum +=
          SumExpOfBlock(params_.x_type, X(row, first), count, offset, Kept(row, first), buffer_.values, ahead_.last);
    });
    kept_row_ = row;
    return part;
  }

  /// Block by block, as in M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
  Partial OnlineSum(std::int64_t row, std::int64_t begin, std::int64_t end) {
    Partial part;
    ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      const Acc* const block = LoadBlock(params_.x_type, X(row, first), count, buffer_.values, kReadAheadBytes);
      Partial of_block;
      of_block.maximum = MaximumOfElements<SameElements<Acc>, Acc>(block, count);
      of_block.sum = SumExpOfElements<SameElements<Acc>, Acc>(block, count, OffsetOf(of_block.maximum));
      part = Merge(part, of_block);
    });
    return part;
  }

  void WriteProbabilities(std::int64_t row, Acc offset, Acc factor, std::int64_t begin, std::int64_t end) {
    const bool kept = keeps_in_y_ || (keeps_here_ && kept_row_ == row);
    ForEachBlock(begin, end, kBlock, [&](std::int64_t first, std::int64_t count) {
      if (kept) {
        MapToBlock(Kept(row, first), count, TimesFactor<Acc>{factor}, params_.y_type, Y(row, first), buffer_.values);
      } else {
        MapBlock(params_.x_type, X(row, first), count, ScaledExp<Acc>{offset, factor}, params_.y_type, Y(row, first),
                 buffer_.values, ahead_.first);
      }
    });
  }

  const SoftmaxParams& params_;
  const Segment& segment_;
  RowsAhead ahead_;
  bool keeps_in_y_ = false;
  bool keeps_here_ = false;
  std::int64_t kept_row_ = -1;  // whose exponentials are in kept_
  BlockBuffer<Acc> buffer_;
  HWY_ALIGN Acc kept_[std::max(kKeptHere, std::size_t{1})];
};

template <typename Acc>
RowFunctions ContiguousOf(SoftmaxResult result) {
  return result == SoftmaxResult::kLogarithms
             ? RowFunctionsOf<SoftmaxRow<Acc, SoftmaxResult::kLogarithms>>::Functions()
             : RowFunctionsOf<SoftmaxRow<Acc, SoftmaxResult::kProbabilities>>::Functions();
}

RowFunctions ContiguousWork(SoftmaxResult result, bool f64) {
  return f64 ? ContiguousOf<double>(result) : ContiguousOf<float>(result);
}

template <typename Acc>
void InterleavedOf(SoftmaxResult result, const Launch& launch, std::int64_t begin, std::int64_t end) {
  if (result == SoftmaxResult::kLogarithms) {
    InterleavedTiles<Acc, SoftmaxResult::kLogarithms>(launch, begin, end);
  } else {
    InterleavedTiles<Acc, SoftmaxResult::kProbabilities>(launch, begin, end);
  }
}

void InterleavedWork(SoftmaxResult result, bool f64, const Launch& launch, std::int64_t begin, std::int64_t end) {
  if (f64) {
    InterleavedOf<double>(result, launch, begin, end);
  } else {
    InterleavedOf<float>(result, launch, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(ContiguousWork);
HWY_EXPORT(InterleavedWork);

struct InterleavedRun {
  SoftmaxResult result;
  bool f64;
  const Launch& launch;

  void Rows(std::int64_t begin, std::int64_t end) const {
    HWY_DYNAMIC_DISPATCH(InterleavedWork)(result, f64, launch, begin, end);
  }
};

}  // namespace

absl::Status RunSoftmaxRows(SoftmaxResult result, const Launch& launch, ParallelExecutor& threads) {
  const auto params = launch.plan->Params<SoftmaxParams>();
  const bool f64 = ComputesInF64(params.x_type, params.y_type);
  const std::int64_t row_bytes =
      params.width * static_cast<std::int64_t>(SizeOf(params.x_type) + SizeOf(params.y_type));
  if (params.inner <= 1) {
    RunRows(HWY_DYNAMIC_DISPATCH(ContiguousWork)(result, f64), launch, params.width, row_bytes, threads);
  } else {
    const std::int64_t tiles = (params.inner + kInterleavedRowsOfATile - 1) / kInterleavedRowsOfATile;
    const std::int64_t tile_rows = std::min(params.inner, kInterleavedRowsOfATile);
    ForEachPieceOfWork(InterleavedRun{result, f64, launch}, launch.total_rows * tiles, row_bytes * tile_rows, threads);
  }
  return absl::OkStatus();
}

absl::Status RunSoftmaxHost(const Launch& launch, ParallelExecutor& threads) {
  return RunSoftmaxRows(SoftmaxResult::kProbabilities, launch, threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
