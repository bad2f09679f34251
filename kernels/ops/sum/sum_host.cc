// sum and mean on the host: vectorised over neighbours, threads over results, parts of long ones and tiles of columns.
#include "kernels/ops/sum/sum_host.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/sum/sum_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_host-inl.h"
#include "kernels/primitives/reduce_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The sum of a block of f64 or, exactly, of i32.
template <typename Work, typename Sum>
Sum SumOfWide(const Work* x, std::int64_t count) {
  const hn::ScalableTag<Sum> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d);
  auto s1 = hn::Zero(d);
  std::int64_t i = 0;
  // Not for a lone lane: GCC 12 miscompiles two sums of every other i32 in i64 where it vectorises them, with SSE2.
  for (; lanes > 1 && i + 2 * lanes <= count; i += 2 * lanes) {
    s0 = hn::Add(s0, LoadWide(d, x + i));
    s1 = hn::Add(s1, LoadWide(d, x + i + lanes));
  }
  Sum sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; i < count; ++i) {
    sum += static_cast<Sum>(x[i]);
  }
  return sum;
}

/// sums[j] += the integers of column j
template <class Rows>
HWY_INLINE void AddIntegers(const Rows& rows, std::int64_t* sums) {
  const hn::ScalableTag<std::int64_t> d;
  const hn::Rebind<std::int32_t, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto columns = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<std::int32_t>()));
  for (std::int64_t j = 0; j < columns; j += lanes) {
    auto sum = hn::LoadU(d, sums + j);
    for (int row = 0; row < Rows::kRows; ++row) {
      sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(narrow, rows.rows[row] + rows.column + j)));
    }
    hn::StoreU(sum, d, sums + j);
  }
}

/// Elements read as f32 or f64, with totals in f64.
template <typename WorkType>
struct FloatSum {
  using Work = WorkType;
  using Total = double;
  using Partial = double;
  using Columns = FoldedColumns<FloatSum>;
  static constexpr int kInputs = 1;
  SumFinish finish;

  static Partial Start() { return 0; }
  template <class Rows>
  HWY_INLINE void StepColumns(const Rows& rows, Partial* totals) const {
    const hn::ScalableTag<Work> d;
    const auto joined = rows.Joined(d, JoinBySum());
    if (std::is_same_v<Work, double> || hn::AllTrue(d, hn::Lt(hn::Abs(joined), hn::Inf(d)))) {
      AddWidened(d, joined, totals);
    } else {
      AddInF64(rows, joined, totals);
    }
  }

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return a + b; }
  template <class From>
  void AddBlock(const typename From::Stored* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    if constexpr (std::is_same_v<Work, float>) {
      const double sum = SumOfFloats<From, Itself>(x, count);
      total += std::isfinite(sum) ? sum : SumInF64<From, Itself>(x, count);
    } else {
      total += SumOfWide<double, double>(x, count);
    }
  }
  double Result(Total total) const { return finish.mean ? total / finish.count : total; }

 private:
  /// Columns whose `joined` elements left f32 once more, in f64; the bits of those beside them must not follow. Out of
  /// line: inlined, it took a fifth of the speed of all others.
  template <class Rows, class V>
  static HWY_NOINLINE void AddInF64(const Rows& rows, V joined, Partial* totals) {
    const hn::ScalableTag<Work> d;
    HWY_ALIGN Work sums[HWY_MAX_BYTES / sizeof(Work)];
    HWY_ALIGN Partial exact[HWY_MAX_BYTES / sizeof(Work)];
    hn::Store(joined, d, sums);
    std::copy_n(totals, hn::Lanes(d), exact);
    JoinRowsWidened(rows, exact, [](auto /*wide*/, auto x, auto total) HWY_ATTR { return hn::Add(total, x); });
    AddWidened(d, joined, totals);
    for (std::size_t j = 0; j < hn::Lanes(d); ++j) {
      totals[j] = std::isfinite(sums[j]) ? totals[j] : exact[j];
    }
  }
};

/// Integers, exactly: read as i32 or i64, with totals in 128 bits. Their mean is rounded once.
template <typename WorkType, bool kMean>
struct IntegerSum {
  using Work = WorkType;
  using Total = WideInteger;
  using Partial = std::int64_t;  // of a part's i32
  using Columns = std::conditional_t<sizeof(Work) == 4, FoldedColumns<IntegerSum>, SeparateColumns<IntegerSum>>;
  static constexpr int kInputs = 1;
  SumFinish finish;

  static Partial Start() { return 0; }
  template <class Rows>
  HWY_INLINE void StepColumns(const Rows& rows, Partial* totals) const {
    AddIntegers(rows, totals);
  }

  Total Identity() const { return 0; }
  Total Combine(Total a, Total b) const { return a + b; }
  void AddBlock(const Work* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    if constexpr (sizeof(Work) == 4) {
      total += SumOfWide<std::int32_t, std::int64_t>(x, count);
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        total += x[i];
      }
    }
  }
  auto Result(const Total& total) const {
    if constexpr (kMean) {
      return static_cast<double>(total) / finish.count;
    } else {
      return total;
    }
  }
};

/// A sum whose accumulator is asked for by name: f64, or a 16-bit type to which every partial sum is rounded.
struct NamedSum {
  using Work = double;
  using Total = double;
  using Columns = SeparateColumns<NamedSum>;
  static constexpr int kInputs = 1;
  SumFinish finish;
  DataType accumulator;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }
  void AddBlock(const double* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    for (std::int64_t i = 0; i < count; ++i) {
      total = RoundedTo(accumulator, total + x[i]);
    }
  }
  double Result(Total total) const { return finish.mean ? total / finish.count : total; }
};

template <bool kMean>
void IntegerSumPhase(const HostReduction& job, const SumFinish& finish, ReducePhase phase, std::int64_t begin,
                     std::int64_t end) {
  if (job.params.x_type == DataType::kInt64) {
    RunPhase(job, IntegerSum<std::int64_t, kMean>{finish}, phase, begin, end);
  } else {
    RunPhase(job, IntegerSum<std::int32_t, kMean>{finish}, phase, begin, end);
  }
}

void SumPhase(const HostReduction& job, const SumFinish& finish, ReducePhase phase, std::int64_t begin,
              std::int64_t end) {
  const DataType type = job.params.x_type;
  if (!IsFloat(type)) {
    const auto run = finish.mean ? &IntegerSumPhase<true> : &IntegerSumPhase<false>;
    run(job, finish, phase, begin, end);
  } else if (type == DataType::kFp64) {
    RunPhase(job, FloatSum<double>{finish}, phase, begin, end);
  } else if (job.params.accumulator == DataType::kFp32) {
    RunPhase(job, FloatSum<float>{finish}, phase, begin, end);
  } else {
    RunPhase(job, NamedSum{finish, job.params.accumulator}, phase, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(SumPhase);

}  // namespace

absl::Status RunSumsHost(const Launch& launch, const SumFinish& finish, ParallelExecutor& threads) {
  const auto phase = [&finish](const HostReduction& job, ReducePhase kind, std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(SumPhase)(job, finish, kind, begin, end);
  };
  return RunReduction(HostReduction(launch), phase, threads);
}

absl::Status RunSumHost(const Launch& launch, ParallelExecutor& threads) {
  return RunSumsHost(launch, SumFinish{}, threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
