// l2_norm on the host. Squares leave the range of f32 long before their root does: a block whose sum shows that they
// have, or may have, is added up again in f64.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/core/operator.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/l2_norm/l2_norm_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_host-inl.h"
#include "kernels/primitives/reduce_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Squares of elements read as f32 or f64; `kInF64`: those of f32 are not added up in f32 first.
template <typename WorkType, bool kInF64>
struct SquareSum {
  using Work = WorkType;
  using Total = double;
  using Partial = double;
  using Columns = FoldedColumns<SquareSum>;
  static constexpr int kInputs = 1;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return a + b; }

  template <class From>
  void AddBlock(const typename From::Stored* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    if constexpr (std::is_same_v<Work, double>) {
      total += SumOfDoubles(x, count);
    } else if constexpr (kInF64) {
      total += SumOfSquaresInF64<From>(x, count);
    } else {
      // What squares below f32's normal numbers lose is nothing beside this sum.
      constexpr double kLeast = 0x1p-100;
      constexpr double kMost = std::numeric_limits<float>::max();
      const double sum = SumOfFloats<From, Squared>(x, count);
      total += sum >= kLeast && sum <= kMost ? sum : SumOfSquaresInF64<From>(x, count);
    }
  }

  static Partial Start() { return 0.0; }
  void StepEach(const Work* x, std::int64_t count, Partial* HWY_RESTRICT sums) const {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      hn::StoreU(AddSquare(d, x + j, hn::LoadU(d, sums + j)), d, sums + j);
    }
    for (; j < count; ++j) {
      sums[j] += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    }
  }
  void Join(Partial sum, Total& total) const { total += sum; }

  void Store(const HostReduction& job, const HostPlace& place, Total total) const {
    StoreResult(job, place, std::sqrt(total));
  }

 private:
  static double SumOfDoubles(const double* x, std::int64_t count) {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d);
    auto s1 = s0;
    std::int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      s0 = AddSquare(d, x + i, s0);
      s1 = AddSquare(d, x + i + lanes, s1);
    }
    double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
    for (; i < count; ++i) {
      sum += x[i] * x[i];
    }
    return sum;
  }

  template <class D, typename T>
  static HWY_INLINE hn::Vec<D> AddSquare(D d, const T* from, hn::Vec<D> sum) {
    const auto value = LoadWide(d, from);
    return hn::MulAdd(value, value, sum);
  }
};

/// Every partial sum rounded to a 16-bit accumulator.
struct RoundedSquareSum {
  using Work = double;
  using Total = double;
  using Columns = TurnedColumns<RoundedSquareSum>;
  static constexpr int kInputs = 1;
  DataType accumulator;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }
  void AddBlock(const double* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    for (std::int64_t i = 0; i < count; ++i) {
      total = Combine(total, x[i] * x[i]);
    }
  }
  void Store(const HostReduction& job, const HostPlace& place, Total total) const {
    StoreResult(job, place, std::sqrt(total));
  }
};

void NormPhase(const HostReduction& job, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  const DataType type = job.params.x_type;
  const DataType accumulator = job.params.accumulator;
  if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
    RunPhase(job, RoundedSquareSum{accumulator}, phase, begin, end);
  } else if (IsFloat(type) && type != DataType::kFp64) {
    if (accumulator == DataType::kFp32) {
      RunPhase(job, SquareSum<float, false>{}, phase, begin, end);
    } else {
      RunPhase(job, SquareSum<float, true>{}, phase, begin, end);
    }
  } else {
    RunPhase(job, SquareSum<double, true>{}, phase, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(NormPhase);

}  // namespace

absl::Status RunL2NormHost(const Launch& launch, ParallelExecutor& threads) {
  return RunReduction(HostReduction(launch), HWY_DYNAMIC_DISPATCH(NormPhase), threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
