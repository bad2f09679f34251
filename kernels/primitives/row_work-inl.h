// From a class that knows one row to the work on all rows of a launch (row_work.h). Included once per Highway target,
// after foreach_target.
//
// A class Row of an operator, which lives on a thread's stack and serves the rows of one request, has
//   using Params, the operator's; using Partial and Statistics, plain data of at most sizeof(RowCell) bytes;
//   Row(const Params&, const Segment&);
//   Partial Gather(int64 row, int64 begin, int64 end): of elements [begin, end) of a row of the request;
//   static Partial Merge(const Partial& first, const Partial& second), in the order of the row;
//   Statistics Settle(int64 row, const Partial& whole);
//   void Write(int64 row, const Statistics&, const Partial&, int64 begin, int64 end): the results of these elements;
//   the partial result is theirs.
//   static constexpr bool kKeepsNothing: whether Write needs nothing that Gather of the same row left behind.
// An object gathers all parts of a row and writes them, or some of its parts only, or only writes; where it keeps
// nothing, it may gather the next row before it writes one.
// `begin` is a multiple of PartsOfRow::kMultiple.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORK_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORK_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_WORK_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/primitives/row_elements-inl.h"
#include "kernels/primitives/row_work.h"
#include "kernels/primitives/segment_lookup.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

template <class Row>
class RowFunctionsOf {
 public:
  static RowFunctions Functions() { return {&Rows, &Gather, &Settle, &Write, Row::kKeepsNothing}; }

 private:
  using Params = typename Row::Params;
  using Partial = typename Row::Partial;
  using Statistics = typename Row::Statistics;
  static_assert(std::is_trivially_copyable_v<Partial> && sizeof(Partial) <= sizeof(RowCell));
  static_assert(std::is_trivially_copyable_v<Statistics> && sizeof(Statistics) <= sizeof(RowCell));

  static void Rows(const Launch& launch, std::int64_t begin, std::int64_t end) {
    const auto params = launch.plan->Params<Params>();
    const PartsOfRow parts(params.width);
    const bool ahead = Row::kKeepsNothing && params.width <= (SizeOf(params.x_type) == 2 ? 512 : 128);
    ForEachSegmentRange(launch.segments, launch.segment_count, begin, end,
                        [&](const Segment& segment, std::int64_t first, std::int64_t last) {
                          Row rows(params, segment);
                          if (ahead) {
                            RunShortRows(rows, first, last, params.width);
                            return;
                          }
                          for (std::int64_t row = first; row < last; ++row) {
                            RunRow(rows, row, parts);
                          }
                        });
  }

  /// Each row is gathered before the one ahead of it is written: what its results wait for (lanes that meet, a
  /// division, a root) is found meanwhile. Longer rows, sooner those of FP32, wait for memory, and longer where two are
  /// read at once. Requires: begin < end.
  static HWY_INLINE void RunShortRows(Row& rows, std::int64_t begin, std::int64_t end, std::int64_t width) {
    Partial whole = rows.Gather(begin, 0, width);
    for (std::int64_t row = begin; row < end; ++row) {
      const Partial next = row + 1 < end ? rows.Gather(row + 1, 0, width) : whole;
      rows.Write(row, rows.Settle(row, whole), whole, 0, width);
      whole = next;
    }
  }

  static void RunRow(Row& rows, std::int64_t row, const PartsOfRow& parts) {
    if (parts.count() == 1) {
      const Partial whole = rows.Gather(row, 0, parts.width);
      rows.Write(row, rows.Settle(row, whole), whole, 0, parts.width);
      return;
    }
    Partial partials[PartsOfRow::kMost];
    for (std::int64_t part = 0; part < parts.count(); ++part) {
      partials[part] = rows.Gather(row, parts.Begin(part), parts.End(part));
    }
    Partial whole = partials[0];
    for (std::int64_t part = 1; part < parts.count(); ++part) {
      whole = Row::Merge(whole, partials[part]);
    }
    const Statistics statistics = rows.Settle(row, whole);
    for (std::int64_t part = 0; part < parts.count(); ++part) {
      rows.Write(row, statistics, partials[part], parts.Begin(part), parts.End(part));
    }
  }

  /// Calls body(rows, row, parts) for a row of the launch.
  template <typename Body>
  static void WithRow(const Launch& launch, std::int64_t row, const Body& body) {
    const auto params = launch.plan->Params<Params>();
    const Segment& segment = launch.segments[FindSegment(launch.segments, launch.segment_count, row)];
    Row rows(params, segment);
    body(rows, row - segment.first_row, PartsOfRow(params.width));
  }

  static void Gather(const Launch& launch, std::int64_t row, std::int64_t part, RowCell* partial) {
    WithRow(launch, row, [&](Row& rows, std::int64_t index, const PartsOfRow& parts) {
      const Partial found = rows.Gather(index, parts.Begin(part), parts.End(part));
      std::memcpy(partial->bytes, &found, sizeof(found));
    });
  }

  static void Settle(const Launch& launch, std::int64_t row, const RowCell* partials, RowCell* statistics) {
    WithRow(launch, row, [&](Row& rows, std::int64_t index, const PartsOfRow& parts) {
      Partial whole = PartialIn(partials[0]);
      for (std::int64_t part = 1; part < parts.count(); ++part) {
        whole = Row::Merge(whole, PartialIn(partials[part]));
      }
      const Statistics settled = rows.Settle(index, whole);
      std::memcpy(statistics->bytes, &settled, sizeof(settled));
    });
  }

  static void Write(const Launch& launch, std::int64_t row, std::int64_t part, const RowCell& partial,
                    const RowCell& statistics) {
    WithRow(launch, row, [&](Row& rows, std::int64_t index, const PartsOfRow& parts) {
      Statistics settled;
      std::memcpy(&settled, statistics.bytes, sizeof(settled));
      rows.Write(index, settled, PartialIn(partial), parts.Begin(part), parts.End(part));
    });
  }

  static Partial PartialIn(const RowCell& cell) {
    Partial partial;
    std::memcpy(&partial, cell.bytes, sizeof(partial));
    return partial;
  }
};

/// How far ahead of a row's passes its memory is fetched (MapElements' `ahead`), in bytes. Rows that stay in the
/// second-level cache until the last pass over them are read from memory by the last pass over the row before, whose
/// arithmetic hides it: `first` is 0 then. Longer ones come from memory in every pass.
struct RowsAhead {
  static constexpr std::int64_t kCachedBytes = std::int64_t{512} * 1024;

  std::int64_t first = 0;
  std::int64_t last = 0;

  explicit RowsAhead(std::int64_t row_bytes)
      : first(row_bytes > kCachedBytes ? kReadAheadBytes : 0),
        last(row_bytes > kCachedBytes || row_bytes < kReadAheadBytes ? kReadAheadBytes : row_bytes) {}
};

/// Calls body(first, count) for the blocks of elements [begin, end) of a row.
template <typename Body>
HWY_INLINE void ForEachBlock(std::int64_t begin, std::int64_t end, std::int64_t block, const Body& body) {
  for (std::int64_t first = begin; first < end; first += block) {
    body(first, end - first < block ? end - first : block);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
