// argmax and argmin on the host: a block is first asked for its largest only, and searched where that is new.
#include "kernels/ops/argmax/argmax_host.h"

#include <algorithm>
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

/// The best of a tile's columns. Before the first row of a part that row has it: where nothing is above the lowest
/// value, all are equal to it.
template <typename Work, bool kSmallest>
class PlaceColumns {
 public:
  template <class R>
  explicit PlaceColumns(const R& /*reduction*/) {}

  void Start(std::int64_t slots) {
    std::fill_n(values_, slots, LowestOf<Work>());
    std::fill_n(rows_, slots, Row{0});
    first_ = -1;
  }

  template <class Rows>
  HWY_INLINE void Step(const Rows& rows, std::int64_t slot, std::int64_t element) {
    first_ = first_ < 0 ? element : first_;
    const auto row = static_cast<Row>(element - first_);
    const hn::ScalableTag<Work> d;
    const auto before = hn::Load(d, values_ + slot);
    if (MayHaveNan(d, rows)) {
      TakeInTurn(rows, slot, row);
      return;
    }
    const auto unturned = rows.Joined(d, JoinByOrder<kSmallest>());
    const auto best = Turn<kSmallest>(d, unturned);
    const auto above = hn::Gt(best, before);  // not where a NaN is
    if (hn::AllFalse(d, above)) {
      return;
    }
    auto place = hn::Set(kRowTag, row);
    for (int i = Rows::kRows - 1; i >= 0; --i) {
      const auto here = hn::RebindMask(kRowTag, hn::Eq(rows.At(d, i), unturned));
      place = hn::IfThenElse(here, hn::Set(kRowTag, static_cast<Row>(row + i)), place);
    }
    Take(above, best, place, slot);
  }

  Best<Work> TotalOf(std::int64_t slot) const { return {values_[slot], first_ + rows_[slot]}; }

 private:
  using Row = hwy::MakeSigned<Work>;  // of the part: fewer than 2^31
  static constexpr hn::ScalableTag<Row> kRowTag{};

  /// Row by row, for vectors that hold a NaN somewhere.
  template <class Rows>
  void TakeInTurn(const Rows& rows, std::int64_t slot, Row row) {
    const hn::ScalableTag<Work> d;
    for (int i = 0; i < Rows::kRows; ++i) {
      const auto value = Turn<kSmallest>(d, rows.At(d, i));
      Take(IsAboveEach(d, value, hn::Load(d, values_ + slot)), value, hn::Set(kRowTag, static_cast<Row>(row + i)),
           slot);
    }
  }

  template <class Mask, class Value, class Place>
  HWY_INLINE void Take(Mask mask, Value value, Place place, std::int64_t slot) {
    const hn::ScalableTag<Work> d;
    hn::Store(hn::IfThenElse(mask, value, hn::Load(d, values_ + slot)), d, values_ + slot);
    const auto before = hn::Load(kRowTag, rows_ + slot);
    hn::Store(hn::IfThenElse(hn::RebindMask(kRowTag, mask), place, before), kRowTag, rows_ + slot);
  }

  std::int64_t first_ = -1;  // element of the part
  HWY_ALIGN Work values_[kColumnsOfATile];
  HWY_ALIGN Row rows_[kColumnsOfATile];
};

template <typename WorkType, bool kSmallest>
struct Place {
  using Work = WorkType;
  using Total = Best<Work>;
  using Columns = PlaceColumns<Work, kSmallest>;
  static constexpr int kInputs = 1;

  /// Loses even to an equal: every element has a lower index.
  Total Identity() const { return {LowestOf<Work>(), std::numeric_limits<std::int64_t>::max()}; }

  Total Combine(const Total& a, const Total& b) const {
    if (IsAbove(b.value, a.value)) {
      return b;
    }
    return IsAbove(a.value, b.value) || a.index < b.index ? a : b;
  }

  template <class From>
  void AddBlock(const typename From::Stored* x, std::int64_t count, std::int64_t first, Total& total) const {
    const Work largest = LargestOfBlock<kSmallest, From>(x, count);
    if (IsAbove(total.value, largest) || (!IsAbove(largest, total.value) && total.index < first)) {
      return;
    }
    total = Combine(total, {largest, first + FirstOf<kSmallest, From>(x, count, largest)});
  }

  std::int64_t Result(const Total& total) const { return total.index; }
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
