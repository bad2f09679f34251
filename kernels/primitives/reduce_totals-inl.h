// What the parts of a result came to: kept until all of them are done, or stored at once where there is but one.
// Included once per Highway target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TOTALS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TOTALS_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TOTALS_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TOTALS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

template <class R>
class PartTotals {
 public:
  using Total = typename R::Total;

  PartTotals(const HostReduction& job, const R& reduction) : job_(job), reduction_(reduction) {}

  /// The totals of a part of `count` neighbouring results, the first of which is at `place`.
  /// Requires: count <= kResultsAtOnce.
  void Emit(const HostPlace& place, std::int64_t part, const Total* totals, std::int64_t count) const {
    if (job_.parts.count > 1) {
      std::copy_n(totals, count, Kept(place, part));
    } else {
      StoreResults(job_, place, reduction_, totals, count);
    }
  }

  /// Results [begin, end) of the launch, some neighbours of one request at a time.
  void Merge(std::int64_t begin, std::int64_t end) const {
    std::int64_t number = begin;
    while (number < end) {
      const HostPlace place = PlaceOf(job_, number);
      const std::int64_t left = place.segment.rows * job_.layout.results - place.index;
      const std::int64_t count = std::min({end - number, left, kMergedAtOnce});
      MergeParts(place, count);
      number += count;
    }
  }

 private:
  static constexpr std::int64_t kMergedAtOnce = 16;

  /// What a part came to, for results from `place` on.
  Total* Kept(const HostPlace& place, std::int64_t part) const {
    const std::int64_t results = place.segment.rows * job_.layout.results;
    return static_cast<Total*>(place.segment.workspace) + part * results + place.index;
  }

  void MergeParts(const HostPlace& place, std::int64_t count) const {
    const ReduceParts& parts = job_.parts;
    Total slots[ReduceParts::kMaxSlots][kMergedAtOnce];
    const auto join = [&](Total* totals, const Total* others) {
      for (std::int64_t j = 0; j < count; ++j) {
        totals[j] = reduction_.Combine(totals[j], others[j]);
      }
    };
    for (int slot = 0; slot < parts.slots; ++slot) {
      std::fill_n(slots[slot], count, reduction_.Identity());
    }
    for (std::int64_t part = 0; part < parts.count; ++part) {
      join(slots[part % parts.slots], Kept(place, part));
    }
    for (int half = parts.slots / 2; half > 0; half /= 2) {
      for (int slot = 0; slot < half; ++slot) {
        join(slots[slot], slots[slot + half]);
      }
    }
    StoreResults(job_, place, reduction_, slots[0], count);
  }

  const HostReduction& job_;
  const R& reduction_;
};

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
