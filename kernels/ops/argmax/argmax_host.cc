// argmax and argmin on the host: a block is first asked for its largest only, and searched where that is new.
#include "kernels/ops/argmax/argmax_host.h"

#include <cstdint>
#include <limits>

#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/argmax/argmax_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_compare-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// The best so far, turned, and where it is. Of equals (all NaN are equal) the one with the lower index is the better.
template <typename Work>
struct Best {
  Work value;
  std::int64_t index;
};

template <typename WorkType, bool kSmallest>
struct Place {
  using Work = WorkType;
  using Total = Best<Work>;
  using Columns = TurnedColumns<Place>;
  static constexpr int kInputs = 1;

  /// Loses even to an equal: every element has a lower index.
  Total Identity() const { return {LowestOf<Work>(), std::numeric_limits<std::int64_t>::max()}; }

  Total Combine(const Total& a, const Total& b) const {
    if (IsAbove(b.value, a.value)) {
      return b;
    }
    return IsAbove(a.value, b.value) || a.index < b.index ? a : b;
  }

  void AddBlock(const Work* x, std::int64_t count, std::int64_t first, Total& total) const {
    const Work largest = LargestOfBlock<kSmallest, SameElements<Work>>(x, count);
    if (IsAbove(total.value, largest) || (!IsAbove(largest, total.value) && total.index < first)) {
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (!IsAbove(largest, TurnOne<kSmallest>(x[i]))) {
        total = Combine(total, {largest, first + i});
        return;
      }
    }
  }

  void Store(const HostReduction& job, const HostPlace& place, const Total& total) const {
    StoreResult(job, place, total.index);
  }
};

void PlacePhase(const HostReduction& job, bool smallest, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  RunComparison<Place>(job, smallest, phase, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(PlacePhase);

}  // namespace

absl::Status RunPlacesHost(const Launch& launch, bool smallest, ParallelExecutor& threads) {
  const auto phase = [smallest](const HostReduction& job, ReducePhase kind, std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(PlacePhase)(job, smallest, kind, begin, end);
  };
  return RunReduction(HostReduction(launch), phase, threads);
}

absl::Status RunArgmaxHost(const Launch& launch, ParallelExecutor& threads) {
  return RunPlacesHost(launch, false, threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
