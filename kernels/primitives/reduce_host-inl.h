// The work of a reduction on the host, for one instruction set. A reduction is a class that says what elements do:
//
//   using Work, Total;                             // what elements are read as; plain data of at most kPartBytes
//   Total Identity() const;
//   Total Combine(const Total&, const Total&) const;
//   static constexpr int kInputs;                  // 1, or 2 whose elements meet in pairs (rows only)
//   void AddBlock(x, count, first, Total&) const;  // neighbours; element 0 is number `first` of the result
//   void AddBlock(a, b, count, Total&) const;      // the same for two inputs
//   using Columns;                                 // one of reduce_columns-inl.h, for one input
//   void Store(job, place, const Total&) const;
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

#include "kernels/primitives/reduce_columns-inl.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Whether R reads 16-bit types itself, by Elements (row_elements-inl.h), without a copy in Work between:
///   template <class From> void AddBlock(const typename From::Stored* x, count, first, Total&) const;
template <class R, typename = void>
inline constexpr bool kReadsAnyFloat = false;
template <class R>
inline constexpr bool
    kReadsAnyFloat<R, std::void_t<decltype(std::declval<const R&>().template AddBlock<SameElements<typename R::Work>>(
                          nullptr, 0, 0, std::declval<typename R::Total&>()))>> = true;

template <class R>
class HostWorker {
 public:
  using Work = typename R::Work;
  using Total = typename R::Total;
  static_assert(sizeof(Total) <= kPartBytes);

  HostWorker(const HostReduction& job, const R& reduction)
      : job_(job), reduction_(reduction), bytes_(static_cast<std::int64_t>(SizeOf(job.params.x_type))) {}

  void Run(ReducePhase phase, std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number) {
      switch (phase) {
        case ReducePhase::kRows:
          DoRow(number);
          break;
        case ReducePhase::kColumns:
          DoColumns(number);
          break;
        case ReducePhase::kMerge:
          DoMerge(number);
          break;
      }
    }
  }

 private:
  const std::byte* Element(const HostPlace& place, int input, std::int64_t offset) const {
    return static_cast<const std::byte*>(place.segment.inputs[input]) +
           (place.piece * job_.layout.piece + offset) * bytes_;
  }

  Total& PartTotal(const HostPlace& place, std::int64_t part) const {
    const std::int64_t results = place.segment.rows * job_.layout.results;
    return static_cast<Total*>(place.segment.workspace)[part * results + place.index];
  }

  void Emit(const HostPlace& place, std::int64_t part, const Total& total) const {
    if (job_.parts.count > 1) {
      PartTotal(place, part) = total;
    } else {
      reduction_.Store(job_, place, total);
    }
  }

  void DoRow(std::int64_t number) {
    const std::int64_t parts = job_.parts.count;
    const HostPlace place = PlaceOf(job_, parts == 1 ? number : number / parts);
    const std::int64_t part = parts == 1 ? 0 : number % parts;
    const std::int64_t end = std::min((part + 1) * job_.parts.length, job_.layout.width);
    const std::int64_t start = job_.layout.kept.Offset(place.result);
    Total total = reduction_.Identity();
    for (std::int64_t first = part * job_.parts.length; first < end; first += kBlock) {
      const std::int64_t count = std::min(end - first, kBlock);
      AddElements(place, start, first, count, total);
    }
    Emit(place, part, total);
  }

  /// Elements [first, first + count) of the result that begins at `start` of its piece.
  void AddElements(const HostPlace& place, std::int64_t start, std::int64_t first, std::int64_t count, Total& total) {
    if constexpr (R::kInputs == 2) {
      const Work* const a =
          LoadElements(job_.params.x_type, Block(place, 0, start, first, count), 0, count, buffers_[0]);
      const Work* const b =
          LoadElements(job_.params.x_type, Block(place, 1, start, first, count), 0, count, buffers_[1]);
      reduction_.AddBlock(a, b, count, total);
    } else {
      AddBlock(Block(place, 0, start, first, count), count, first, total);
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
    const std::byte* const block = Element(place, input, start + first);
    FetchPages(block, count * bytes_);
    return block;
  }

  /// Asks for the first lines of the pages that begin in the block behind this one. The processor fetches the others in
  /// time by itself, and to ask for them, too, would slow down what comes out of a cache.
  static void FetchPages(const std::byte* block, std::int64_t bytes) {
    constexpr std::uintptr_t kPage = 4096;
    constexpr std::int64_t kLines = 4;
    constexpr std::int64_t kLine = 64;
    const auto address = reinterpret_cast<std::uintptr_t>(block) + kReadAheadBytes;
    const auto to_page = static_cast<std::int64_t>((kPage - address % kPage) % kPage);
    for (std::int64_t page = to_page; page < bytes; page += static_cast<std::int64_t>(kPage)) {
      for (std::int64_t line = 0; line < kLines; ++line) {
        FetchToRead(block + page + line * kLine, kReadAheadBytes);
      }
    }
  }

  /// Elements that lie in several runs, side by side in `gathered_`.
  void Gather(const HostPlace& place, int input, std::int64_t start, std::int64_t first, std::int64_t count) {
    const std::int64_t run = job_.layout.run;
    std::int64_t done = 0;
    while (done < count) {
      const std::int64_t number = (first + done) / run;
      const std::int64_t within = first + done - number * run;
      const std::int64_t length = std::min(count - done, run - within);
      std::memcpy(gathered_ + done * bytes_, Element(place, input, start + job_.layout.reduced.Offset(number) + within),
                  static_cast<std::size_t>(length * bytes_));
      done += length;
    }
  }

  void DoColumns([[maybe_unused]] std::int64_t number) {
    if constexpr (R::kInputs == 1) {  // two inputs only meet along the last axis
      WalkColumns(number);
    }
  }

  void WalkColumns(std::int64_t number) {
    const ReduceLayout& layout = job_.layout;
    const std::int64_t first_column = number % job_.tiles * kColumnsOfATile;
    const std::int64_t part = number / job_.tiles % job_.parts.count;
    const std::int64_t run = number / job_.tiles / job_.parts.count;
    const std::int64_t columns = std::min(layout.run - first_column, kColumnsOfATile);
    const HostPlace place = PlaceOf(job_, run * layout.run);
    const std::int64_t start = layout.kept.Offset(place.result / layout.run) + first_column;
    const std::int64_t end = std::min((part + 1) * job_.parts.length, layout.width);
    std::fill_n(totals_, columns, reduction_.Identity());
    typename R::Columns walk(reduction_, columns);
    for (std::int64_t first = part * job_.parts.length; first < end; first += kRowsOfAFold) {
      const std::int64_t rows = std::min(end - first, kRowsOfAFold);
      AddRows(place, start, first, rows, columns, walk);
      walk.Fold(first, rows, totals_);
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t column = first_column + j;  // all of them belong to one piece
      Emit({place.segment, place.piece, place.result + column, place.index + column}, part, totals_[j]);
    }
  }

  /// Narrow runs that follow each other are read many at a time.
  template <class Columns>
  void AddRows(const HostPlace& place, std::int64_t start, std::int64_t first, std::int64_t rows, std::int64_t columns,
               Columns& walk) {
    const ReduceLayout& layout = job_.layout;
    if (layout.IsPlain() && columns == layout.run && rows * columns <= kBlock) {
      const Work* const block = LoadElements(job_.params.x_type, Element(place, 0, start + first * layout.run), 0,
                                             rows * columns, buffers_[0]);
      for (std::int64_t row = 0; row < rows; ++row) {
        walk.AddRow(block + row * columns, row);
      }
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::byte* const from = Element(place, 0, start + layout.reduced.Offset(first + row));
      walk.AddRow(LoadElements(job_.params.x_type, from, 0, columns, buffers_[0]), row);
    }
  }

  void DoMerge(std::int64_t number) {
    const HostPlace place = PlaceOf(job_, number);
    const ReduceParts& parts = job_.parts;
    Total slots[ReduceParts::kMaxSlots];
    std::fill_n(slots, parts.slots, reduction_.Identity());
    for (std::int64_t part = 0; part < parts.count; ++part) {
      Total& slot = slots[part % parts.slots];
      slot = reduction_.Combine(slot, PartTotal(place, part));
    }
    for (int half = parts.slots / 2; half > 0; half /= 2) {
      for (int slot = 0; slot < half; ++slot) {
        slots[slot] = reduction_.Combine(slots[slot], slots[slot + half]);
      }
    }
    reduction_.Store(job_, place, slots[0]);
  }

  const HostReduction& job_;
  const R& reduction_;
  std::int64_t bytes_;  // of an element
  HWY_ALIGN Work buffers_[R::kInputs][kBlock];
  alignas(16) std::byte gathered_[kBlock * 8];
  Total totals_[kColumnsOfATile];
};

template <class R>
void RunPhase(const HostReduction& job, const R& reduction, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  HostWorker<R> worker(job, reduction);
  worker.Run(phase, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
