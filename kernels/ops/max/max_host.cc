// max and min on the host.
#include "kernels/ops/max/max_host.h"

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/max/max_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_compare-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// The largest so far, turned.
template <typename WorkType, bool kSmallest>
struct Extremum {
  using Work = WorkType;
  using Total = Work;
  using Partial = Work;
  using Columns = FoldedColumns<Extremum>;
  static constexpr int kInputs = 1;

  Total Identity() const { return LowestOf<Work>(); }
  Total Combine(Total a, Total b) const { return IsAbove(b, a) ? b : a; }
  template <class From>
  void AddBlock(const typename From::Stored* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    total = Combine(total, LargestOfBlock<kSmallest, From>(x, count));
  }
  static Partial Start() { return LowestOf<Work>(); }
  template <class Rows>
  HWY_INLINE void StepColumns(const Rows& rows, Partial* totals) const {
    const hn::ScalableTag<Work> d;
    const auto before = hn::LoadU(d, totals);
    const auto largest = hn::Max(Turn<kSmallest>(d, rows.Joined(d, JoinByOrder<kSmallest>())), before);
    hn::StoreU(WithNans(d, rows, before, largest), d, totals);
  }
  auto Result(Total total) const {
    const Work value = TurnOne<kSmallest>(total);
    return static_cast<std::conditional_t<std::is_floating_point_v<Work>, double, std::int64_t>>(value);
  }
};

void ExtremumPhase(const HostReduction& job, bool smallest, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  RunComparison<Extremum>(job, smallest, phase, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(ExtremumPhase);

}  // namespace

absl::Status RunExtremaHost(const Launch& launch, bool smallest, ParallelExecutor& threads) {
  const auto phase = [smallest](const HostReduction& job, ReducePhase kind, std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(ExtremumPhase)(job, smallest, kind, begin, end);
  };
  return RunReduction(HostReduction(launch), phase, threads);
}

absl::Status RunMaxHost(const Launch& launch, ParallelExecutor& threads) {
  return RunExtremaHost(launch, false, threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
