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
#include "kernels/ops/logsumexp/logsumexp_columns-inl.h"
#include "kernels/primitives/reduce_compare-inl.h"
#include "kernels/primitives/reduce_host-inl.h"
#include "kernels/primitives/row_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

inline double OffsetOf(double maximum) { return std::isinf(maximum) ? 0.0 : maximum; }

template <typename WorkType>
struct LogSumExp {
  using Work = WorkType;
  using Total = ScaledSum;
  using Columns = ScaledSumColumns<Work>;
  static constexpr int kInputs = 1;

  Total Identity() const { return {0.0, -std::numeric_limits<double>::infinity()}; }

  Total Combine(const Total& a, const Total& b) const {
    const double maximum = std::fmax(a.maximum, b.maximum);
    return {Rescaled(a, maximum) + Rescaled(b, maximum), maximum};
  }

  template <class From>
  void AddBlock(const typename From::Stored* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    const Work largest = LargestOfBlock<false, From>(x, count);
    if (std::isnan(largest)) {
      total.sum = largest;
      return;
    }
    const double maximum = std::fmax(total.maximum, static_cast<double>(largest));
    total = {Rescaled(total, maximum), maximum};
    if (maximum == std::numeric_limits<double>::infinity()) {
      total.sum += maximum;  // an earlier NaN stays
    } else {
      total.sum += SumExpOfElements<From, Work>(x, count, static_cast<Work>(OffsetOf(maximum)));
    }
  }

  double Result(const Total& total) const { return std::log(total.sum) + OffsetOf(total.maximum); }

  /// The sum as it is with another maximum; an empty one is 0 with any.
  static double Rescaled(const Total& total, double maximum) {
    const double difference = OffsetOf(total.maximum) - OffsetOf(maximum);
    return total.sum == 0.0 || difference == 0.0 ? total.sum : total.sum * std::exp(difference);
  }
};

/// Every partial sum rounded to a 16-bit accumulator.
struct RoundedLogSumExp {
  using Work = double;
  using Total = ScaledSum;
  using Columns = SeparateColumns<RoundedLogSumExp>;
  static constexpr int kInputs = 1;
  DataType accumulator;

  Total Identity() const { return LogSumExp<double>().Identity(); }

  Total Combine(const Total& a, const Total& b) const {
    const double maximum = std::fmax(a.maximum, b.maximum);
    return {RoundedTo(accumulator, Rescaled(a, maximum) + Rescaled(b, maximum)), maximum};
  }

  void AddBlock(const double* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    const double largest = LargestOfBlock<false, SameElements<double>>(x, count);
    if (std::isnan(largest)) {
      total.sum = largest;
      return;
    }
    const double maximum = std::fmax(total.maximum, largest);
    total = {Rescaled(total, maximum), maximum};
    for (std::int64_t i = 0; i < count; ++i) {
      total.sum = RoundedTo(accumulator, total.sum + std::exp(x[i] - OffsetOf(maximum)));
    }
  }

  double Result(const Total& total) const { return LogSumExp<double>().Result(total); }

 private:
  double Rescaled(const Total& total, double maximum) const {
    return RoundedTo(accumulator, LogSumExp<double>::Rescaled(total, maximum));
  }
};

void LogSumExpPhase(const HostReduction& job, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  const DataType accumulator = job.params.accumulator;
  if (accumulator == DataType::kFp32) {
    RunPhase(job, LogSumExp<float>{}, phase, begin, end);
  } else if (accumulator == DataType::kFp64) {
    RunPhase(job, LogSumExp<double>{}, phase, begin, end);
  } else {
    RunPhase(job, RoundedLogSumExp{accumulator}, phase, begin, end);
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
