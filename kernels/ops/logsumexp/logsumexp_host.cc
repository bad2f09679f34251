// logsumexp on the host: block by block, the sum rescaled whenever the maximum grows.
// Source: M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018.
//
// Of an infinite maximum nothing is subtracted: exp(+inf) makes the sum infinite, and exp(-inf) adds 0.
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/core/operator.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/logsumexp/logsumexp_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_compare-inl.h"
#include "kernels/primitives/reduce_host-inl.h"
#include "kernels/primitives/row_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// sum = the sum of exp(x - OffsetOf(maximum)).
struct ScaledSum {
  double sum;
  double maximum;
};

template <typename WorkType>
struct LogSumExp {
  using Work = WorkType;
  using Total = ScaledSum;
  using Columns = TurnedColumns<LogSumExp>;
  static constexpr int kInputs = 1;
  DataType accumulator;  // a 16-bit one has every partial sum rounded to it

  Total Identity() const { return {0.0, -std::numeric_limits<double>::infinity()}; }

  Total Combine(const Total& a, const Total& b) const {
    const double maximum = std::fmax(a.maximum, b.maximum);
    return {RoundedTo(accumulator, Rescaled(a, maximum) + Rescaled(b, maximum)), maximum};
  }

  void AddBlock(const Work* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    const Work largest = LargestOfBlock<false, SameElements<Work>>(x, count);
    if (std::isnan(largest)) {
      total.sum = largest;
      return;
    }
    const double maximum = std::fmax(total.maximum, static_cast<double>(largest));
    total = {Rescaled(total, maximum), maximum};
    const double offset = OffsetOf(maximum);
    if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
      for (std::int64_t i = 0; i < count; ++i) {
        total.sum = RoundedTo(accumulator, total.sum + std::exp(static_cast<double>(x[i]) - offset));
      }
    } else if (maximum == std::numeric_limits<double>::infinity()) {
      total.sum += maximum;  // an earlier NaN stays
    } else {
      total.sum += SumExpOfBlock<Work>(TypeOf<Work>(), x, count, static_cast<Work>(offset), nullptr, nullptr);
    }
  }

  void Store(const HostReduction& job, const HostPlace& place, const Total& total) const {
    StoreResult(job, place, std::log(total.sum) + OffsetOf(total.maximum));
  }

 private:
  static double OffsetOf(double maximum) { return std::isinf(maximum) ? 0.0 : maximum; }

  /// The sum as it is with another maximum; an empty one is 0 with any.
  double Rescaled(const Total& total, double maximum) const {
    if (total.sum == 0.0) {
      return 0.0;
    }
    return RoundedTo(accumulator, total.sum * std::exp(OffsetOf(total.maximum) - OffsetOf(maximum)));
  }
};

void LogSumExpPhase(const HostReduction& job, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  const DataType accumulator = job.params.accumulator;
  if (accumulator == DataType::kFp32) {
    RunPhase(job, LogSumExp<float>{accumulator}, phase, begin, end);
  } else {
    RunPhase(job, LogSumExp<double>{accumulator}, phase, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(LogSumExpPhase);

}  // namespace

absl::Status RunLogsumexpHost(const Launch& launch, ParallelExecutor& threads) {
  return RunReduction(HostReduction(launch), HWY_DYNAMIC_DISPATCH(LogSumExpPhase), threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
