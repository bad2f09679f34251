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

// Between these no square has left the range of f32, and what those below its normal numbers lose is nothing beside
// their sum.
inline constexpr double kLeast = 0x1p-100;
inline constexpr double kMost = std::numeric_limits<float>::max();

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
      total += SumInF64<From, Squared>(x, count);
    } else {
      const double sum = SumOfFloats<From, Squared>(x, count);
      total += sum >= kLeast && sum <= kMost ? sum : SumInF64<From, Squared>(x, count);
    }
  }

  static Partial Start() { return 0.0; }
  template <class Rows>
  HWY_INLINE void StepColumns(const Rows& rows, Partial* totals) const {
    if constexpr (kInF64 || Rows::kRows == 1) {
      AddSquares(rows, totals);
    } else {
      AddSquaresInF32(rows, totals);
    }
  }

  double Result(Total total) const { return std::sqrt(total); }

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

  /// The rows' squares in f32, or in f64 in those lanes whose sum asks for it.
  template <class Rows>
  static HWY_INLINE void AddSquaresInF32(const Rows& rows, double* totals) {
    const hn::ScalableTag<float> d;
    auto s0 = Squared::Of(d, rows.At(d, 0));
    auto s1 = Squared::Of(d, rows.At(d, 1));
    for (int row = 2; row < Rows::kRows; row += 2) {
      s0 = Squared::Add(d, rows.At(d, row), s0);
      s1 = Squared::Add(d, rows.At(d, row + 1), s1);
    }
    const auto sum = hn::Add(s0, s1);
    const auto good = hn::And(hn::Ge(sum, hn::Set(d, static_cast<float>(kLeast))),
                              hn::Le(sum, hn::Set(d, static_cast<float>(kMost))));
    if (hn::AllTrue(d, good)) {
      AddWidened(d, sum, totals);
    } else {
      AddSquaresInEither(rows, sum, totals);
    }
  }

  template <class Rows, class V>
  static void AddSquaresInEither(const Rows& rows, V sum, double* totals) {
    const hn::ScalableTag<float> d;
    HWY_ALIGN double exact[HWY_MAX_BYTES / sizeof(float)] = {};
    AddSquares(rows, exact);
    const double* of_half = exact;
    ForEachWidened(d, sum, [&](auto wide, auto half) HWY_ATTR {
      const auto good = hn::And(hn::Ge(half, hn::Set(wide, kLeast)), hn::Le(half, hn::Set(wide, kMost)));
      const auto added = hn::IfThenElse(good, half, hn::Load(wide, of_half));
      hn::StoreU(hn::Add(hn::LoadU(wide, totals), added), wide, totals);
      of_half += hn::Lanes(wide);
      totals += hn::Lanes(wide);
    });
  }

  /// In f64.
  template <class Rows>
  static HWY_INLINE void AddSquares(const Rows& rows, double* totals) {
    JoinRowsWidened(rows, totals, [](auto /*wide*/, auto x, auto total) HWY_ATTR { return hn::MulAdd(x, x, total); });
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
  using Columns = SeparateColumns<RoundedSquareSum>;
  static constexpr int kInputs = 1;
  DataType accumulator;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }
  void AddBlock(const double* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    for (std::int64_t i = 0; i < count; ++i) {
      total = Combine(total, x[i] * x[i]);
    }
  }
  double Result(Total total) const { return std::sqrt(total); }
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
