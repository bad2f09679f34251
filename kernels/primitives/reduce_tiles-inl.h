// The columns of a reduction on the host, tile by tile: where a tile's rows lie, and how they are read. Included once
// per Highway target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TILES_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TILES_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/primitives/reduce_columns-inl.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_load-inl.h"
#include "kernels/primitives/reduce_totals-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

template <class R>
class TileWalker {
 public:
  TileWalker(const HostReduction& job, const R& reduction)
      : job_(job),
        totals_(job, reduction),
        columns_(reduction),
        bytes_(static_cast<std::int64_t>(SizeOf(job.params.x_type))),
        stride_(job.layout.reduced.strides[job.layout.reduced.axes - 1] * bytes_) {}

  /// Items [begin, end) of ReducePhase::kColumns.
  void Run(std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number) {
      Walk(number);
    }
  }

 private:
  using Work = typename R::Work;
  using Total = typename R::Total;

  void Walk(std::int64_t number) {
    const std::int64_t run_length = job_.layout.run;
    const bool one_tile = job_.tiles * job_.parts.count == 1;  // short columns notice the divisions
    const std::int64_t part = one_tile ? 0 : number / job_.tiles % job_.parts.count;
    const std::int64_t run = one_tile ? number : number / job_.tiles / job_.parts.count;
    const std::int64_t begin = one_tile ? 0 : number % job_.tiles * job_.tile;
    const std::int64_t end = std::min(begin + job_.tile, run_length);
    const HostPlace place = PlaceOf(job_, run * run_length);
    const bool walked = end - begin >= Lanes() && WithStored([&](auto elements) {
                          WalkInPlace<decltype(elements)>(TileAt(place, part, begin, end - begin), part);
                        });
    for (std::int64_t first = begin; first < end && !walked; first += kMostThroughBuffer) {
      WalkThroughBuffer(TileAt(place, part, first, std::min(end - first, kMostThroughBuffer)), part);
    }
  }

  /// Columns of a step that the buffer holds.
  static constexpr std::int64_t kMostThroughBuffer = kBlock / kRowsOfAStep;

  /// Columns of one run, in the rows of a part.
  struct Tile {
    HostPlace place;  // of its first column
    const std::byte* x;
    std::int64_t first;  // row, of the result's elements
    std::int64_t rows;
    ColumnSlots slots;
  };

  static std::int64_t Lanes() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<Work>())); }

  Tile TileAt(const HostPlace& run, std::int64_t part, std::int64_t column, std::int64_t columns) const {
    const ReduceLayout& layout = job_.layout;
    const std::int64_t first = part * job_.parts.length;
    const std::int64_t start = layout.kept.axes == 0 ? 0 : layout.kept.Offset(run.result / layout.run);
    const HostPlace place{run.segment, run.piece, run.result + column, run.index + column};
    return {place, ElementOf(job_, run, 0, start + column), first, std::min(job_.parts.length, layout.width - first),
            ColumnSlots{columns, Lanes()}};
  }

  /// A row of the tile.
  const std::byte* RowOf(const Tile& tile, std::int64_t row) const {
    const IndexMap& reduced = job_.layout.reduced;
    const std::int64_t element = tile.first + row;
    return tile.x + (reduced.axes == 1 ? element * stride_ : reduced.Offset(element) * bytes_);
  }

  /// How far ahead rows are fetched: to the next step. A launch that a second-level cache may hold is not.
  std::int64_t RowsAhead() const {
    constexpr std::int64_t kCachedBytes = std::int64_t{1} << 20;
    return job_.results * job_.layout.width * bytes_ <= kCachedBytes ? 0 : kRowsOfAStep * stride_;
  }

  /// Calls f(elements) if x is of a type that can be read where it lies, by vectors of Work, and returns whether it is.
  template <class F>
  bool WithStored(const F& f) const {
    if constexpr (std::is_floating_point_v<Work>) {
      return WithElements<Work>(job_.params.x_type, f);
    } else {
      const bool own = job_.params.x_type == (sizeof(Work) == 4 ? DataType::kInt32 : DataType::kInt64);
      if (own) {
        f(SameElements<Work>{});
      }
      return own;
    }
  }

  template <class From>
  void WalkInPlace(const Tile& tile, std::int64_t part) {
    columns_.Start(tile.slots.count());
    const auto row_at = [&](std::int64_t row) { return As<From>(RowOf(tile, row)); };
    StepRows<From>(tile.rows, tile.slots, tile.first, row_at, RowsAhead(), columns_);
    EmitColumns(tile, part);
  }

  /// Rows that are narrower than a vector or have to be converted: as many at a time as the buffer holds.
  void WalkThroughBuffer(const Tile& tile, std::int64_t part) {
    const std::int64_t width = tile.slots.columns;
    const std::int64_t most = kBlock / width / kRowsOfAStep * kRowsOfAStep;
    columns_.Start(tile.slots.count());
    for (std::int64_t first = 0; first < tile.rows; first += most) {
      const std::int64_t rows = std::min(tile.rows - first, most);
      FillBuffer(tile, first, rows);
      const auto row_at = [&](std::int64_t row) { return buffer_ + row * width; };
      StepRows<SameElements<Work>>(rows, tile.slots, tile.first + first, row_at, 0, columns_);
    }
    EmitColumns(tile, part);
  }

  void FillBuffer(const Tile& tile, std::int64_t first, std::int64_t rows) {
    const std::int64_t width = tile.slots.columns;
    if (job_.layout.IsPlain() && width == job_.layout.run) {
      FetchPages(RowOf(tile, first), rows * width * bytes_);
      CopyElements(RowOf(tile, first), rows * width, buffer_);
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      CopyElements(RowOf(tile, first + row), width, buffer_ + row * width);
    }
  }

  void CopyElements(const std::byte* from, std::int64_t count, Work* to) const {
    const Work* const loaded = LoadElements(job_.params.x_type, from, 0, count, to);
    if (loaded != to) {
      std::copy_n(loaded, count, to);
    }
  }

  void EmitColumns(const Tile& tile, std::int64_t part) const {
    EmitSlots(tile, part, 0, tile.slots.whole(), 0);
    EmitSlots(tile, part, tile.slots.whole(), tile.slots.columns, tile.slots.last_slot());
  }

  /// Columns [begin, end) of the tile, which lie in the slots from `slot` on.
  void EmitSlots(const Tile& tile, std::int64_t part, std::int64_t begin, std::int64_t end, std::int64_t slot) const {
    Total totals[kResultsAtOnce];
    for (std::int64_t first = begin; first < end; first += kResultsAtOnce) {
      const std::int64_t count = std::min(end - first, kResultsAtOnce);
      for (std::int64_t j = 0; j < count; ++j) {
        totals[j] = columns_.TotalOf(slot + first - begin + j);
      }
      const HostPlace& place = tile.place;
      totals_.Emit({place.segment, place.piece, place.result + first, place.index + first}, part, totals, count);
    }
  }

  const HostReduction& job_;
  PartTotals<R> totals_;
  typename R::Columns columns_;
  std::int64_t bytes_;                                            // of an element
  std::int64_t stride_;                                           // bytes between rows, where they lie evenly
  HWY_ALIGN Work buffer_[kBlock + HWY_MAX_BYTES / sizeof(Work)];  // narrow rows are read beyond the end
};

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
