// The work of a reduction on the host, for one instruction set. A reduction is a class that says what elements do:
//
//   using Work, Total;                             // what elements are read as; plain data of at most kPartBytes
//   Total Identity() const;
//   Total Combine(const Total&, const Total&) const;
//   static constexpr int kInputs;                  // 1, or 2 whose elements meet in pairs (rows only)
//   void AddBlock(x, count, first, Total&) const;  // neighbours; element 0 is number `first` of the result
//   void AddBlock(a, b, count, Total&) const;      // the same for two inputs, which lie whole (no axis between)
//   using Columns;                                 // for one input: how columns are kept, see reduce_columns-inl.h
//   Result(const Total&) const;                    // f64 or an integer, on its way into y
//
// Elements are added block by block from the beginning of a part, so the order of every sum follows from type, width
// and instruction set.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_HOST_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_load-inl.h"
#include "kernels/primitives/reduce_tiles-inl.h"
#include "kernels/primitives/reduce_totals-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Whether R reads 16-bit types itself, by Elements (row_elements-inl.h), without a copy in Work between:
///   template <class From> void AddBlock(const typename From::Stored* x, count, first, Total&) const;
///   template <class From> void AddBlock(const typename From::Stored* a, b, count, Total&) const;
template <class R, typename = void>
inline constexpr bool kReadsAnyFloat = false;
template <class R>
inline constexpr bool
    kReadsAnyFloat<R, std::void_t<decltype(std::declval<const R&>().template AddBlock<SameElements<typename R::Work>>(
                          nullptr, 0, 0, std::declval<typename R::Total&>()))>> = true;

template <class R>
class RowWorker {
 public:
  using Work = typename R::Work;
  using Total = typename R::Total;
  static_assert(sizeof(Total) <= kPartBytes);

  RowWorker(const HostReduction& job, const R& reduction)
      : job_(job),
        reduction_(reduction),
        totals_(job, reduction),
        bytes_(static_cast<std::int64_t>(SizeOf(job.params.x_type))) {}

  /// Items [begin, end) of ReducePhase::kRows.
  void Run(std::int64_t begin, std::int64_t end) {
    if (job_.parts.count == 1) {
      RunWhole(begin, end);
      return;
    }
    for (std::int64_t number = begin; number < end; ++number) {
      const HostPlace place = PlaceOf(job_, number / job_.parts.count);
      const std::int64_t part = number % job_.parts.count;
      const Total total = TotalOf(place, part);
      totals_.Emit(place, part, &total, 1);
    }
  }

 private:
  /// Results of one part, many neighbours of one request at a time: short ones notice every look at the launch.
  void RunWhole(std::int64_t begin, std::int64_t end) {
    Total totals[kResultsAtOnce];
    std::int64_t number = begin;
    while (number < end) {
      const HostPlace place = PlaceOf(job_, number);
      const std::int64_t left = place.segment.rows * job_.layout.results - place.index;
      const std::int64_t count = std::min({end - number, left, kResultsAtOnce});
      if (!AddShortRows(place, count, totals)) {
        for (std::int64_t j = 0; j < count; ++j) {
          totals[j] = TotalOf(NeighbourOf(place, j), 0);
        }
      }
      totals_.Emit(place, 0, totals, count);
      number += count;
    }
  }

  /// Rows of at most a block that lie one after another, with a single look at what they are: they notice any other.
  /// False, and nothing done, where there are none.
  bool AddShortRows(const HostPlace& place, std::int64_t count, Total* totals) {
    const std::int64_t width = job_.layout.width;
    if constexpr (kReadsAnyFloat<R> && R::kInputs == 1) {
      return job_.layout.IsPlain() && width <= kBlock && WithElements<Work>(job_.params.x_type, [&](auto elements) {
               using From = decltype(elements);
               const std::byte* row = ElementOf(job_, place, 0, 0);
               for (std::int64_t j = 0; j < count; ++j, row += width * bytes_) {
                 FetchPages(row, width * bytes_);
                 totals[j] = reduction_.Identity();
                 reduction_.template AddBlock<From>(As<From>(row), width, 0, totals[j]);
               }
             });
    } else {
      return false;
    }
  }

  HostPlace NeighbourOf(const HostPlace& place, std::int64_t distance) const {
    const std::int64_t results = job_.layout.results;
    const std::int64_t index = place.index + distance;
    const std::int64_t piece = results == 1 ? index : index / results;
    return {place.segment, piece, index - piece * results, index};
  }

  Total TotalOf(const HostPlace& place, std::int64_t part) {
    const std::int64_t end = std::min((part + 1) * job_.parts.length, job_.layout.width);
    const std::int64_t start = job_.layout.kept.Offset(place.result);
    Total total = reduction_.Identity();
    for (std::int64_t first = part * job_.parts.length; first < end; first += kBlock) {
      const std::int64_t count = std::min(end - first, kBlock);
      AddElements(place, start, first, count, total);
    }
    return total;
  }

  /// Elements [first, first + count) of the result that begins at `start` of its piece.
  void AddElements(const HostPlace& place, std::int64_t start, std::int64_t first, std::int64_t count, Total& total) {
    const std::byte* const block = Block(place, 0, start, first, count);
    if constexpr (R::kInputs == 2) {
      AddPairs(block, Block(place, 1, start, first, count), count, total);
    } else {
      AddBlock(block, count, first, total);
    }
  }

  void AddPairs(const std::byte* a, const std::byte* b, std::int64_t count, Total& total) {
    const DataType type = job_.params.x_type;
    if constexpr (kReadsAnyFloat<R>) {
      const bool added = WithElements<Work>(type, [&](auto elements) {
        using From = decltype(elements);
        reduction_.template AddBlock<From>(As<From>(a), As<From>(b), count, total);
      });
      if (!added) {
        reduction_.template AddBlock<SameElements<Work>>(LoadElements(type, a, 0, count, buffers_[0]),
                                                         LoadElements(type, b, 0, count, buffers_[1]), count, total);
      }
    } else {
      reduction_.AddBlock(LoadElements(type, a, 0, count, buffers_[0]), LoadElements(type, b, 0, count, buffers_[1]),
                          count, total);
    }
  }

  void AddBlock(const std::byte* block, std::int64_t count, std::int64_t first, Total& total) {
    if constexpr (kReadsAnyFloat<R>) {
      const bool added = WithElements<Work>(job_.params.x_type, [&](auto elements) {
        using From = decltype(elements);
        reduction_.template AddBlock<From>(As<From>(block), count, first, total);
      });
      if (!added) {
        const Work* const x = LoadElements(job_.params.x_type, block, 0, count, buffers_[0]);
        reduction_.template AddBlock<SameElements<Work>>(x, count, first, total);
      }
    } else {
      reduction_.AddBlock(LoadElements(job_.params.x_type, block, 0, count, buffers_[0]), count, first, total);
    }
  }

  /// The bytes of elements [first, first + count).
  const std::byte* Block(const HostPlace& place, int input, std::int64_t start, std::int64_t first,
                         std::int64_t count) {
    if (job_.layout.reduced.axes > 0) {
      Gather(place, input, start, first, count);
      return gathered_;
    }
    const std::byte* const block = ElementOf(job_, place, input, start + first);
    FetchPages(block, count * bytes_);
    return block;
  }

  /// Elements that lie in several runs, side by side in `gathered_`.
  void Gather(const HostPlace& place, int input, std::int64_t start, std::int64_t first, std::int64_t count) {
    const std::int64_t run = job_.layout.run;
    std::int64_t done = 0;
    while (done < count) {
      const std::int64_t number = (first + done) / run;
      const std::int64_t within = first + done - number * run;
      const std::int64_t length = std::min(count - done, run - within);
      std::memcpy(gathered_ + done * bytes_,
                  ElementOf(job_, place, input, start + job_.layout.reduced.Offset(number) + within),
                  static_cast<std::size_t>(length * bytes_));
      done += length;
    }
  }

  const HostReduction& job_;
  const R& reduction_;
  PartTotals<R> totals_;
  std::int64_t bytes_;  // of an element
  HWY_ALIGN Work buffers_[R::kInputs][kBlock];
  alignas(16) std::byte gathered_[kBlock * 8];
};

template <class R>
void RunPhase(const HostReduction& job, const R& reduction, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  if (phase == ReducePhase::kRows) {
    RowWorker<R>(job, reduction).Run(begin, end);
  } else if (phase == ReducePhase::kMerge) {
    PartTotals<R>(job, reduction).Merge(begin, end);
  } else if constexpr (R::kInputs == 1) {  // two inputs only meet along the last axis
    TileWalker<R>(job, reduction).Run(begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
