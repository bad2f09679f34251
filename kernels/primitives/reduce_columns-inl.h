// How the host walks down a tile of columns, kRowsOfAStep rows at a time and a vector of neighbouring columns after the
// other. Every column is a lane of its own: its bits do not depend on the columns beside it. Included once per Highway
// target, after foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/row_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Rows that are read side by side, so that a column's total is loaded and stored once for all of them. As many streams
/// as hardware prefetchers follow, and fewer lines than a set of the first-level cache holds where all of them meet in
/// one, as with rows of a power of two.
inline constexpr int kRowsOfAStep = 8;

/// A vector of columns in kRowCount rows: kRowsOfAStep, or 1 of the few that are left.
template <class ElementsType, int kRowCount>
struct ColumnRows {
  using Elements = ElementsType;
  using Work = typename Elements::Value;
  static constexpr int kRows = kRowCount;
  static_assert(kRows == 1 || kRows == 8);

  const typename Elements::Stored* const* rows;
  std::int64_t column;

  /// `from`: of the vector's columns, where D has fewer lanes.
  template <class D>
  HWY_INLINE hn::Vec<D> At(D d, int row, std::int64_t from = 0) const {
    return Elements::Load(d, rows[row] + column + from);
  }

  /// All rows, joined pairwise.
  template <class D, class F>
  HWY_INLINE hn::Vec<D> Joined(D d, const F& join) const {
    if constexpr (kRows == 1) {
      return At(d, 0);
    } else {
      return join(join(join(At(d, 0), At(d, 1)), join(At(d, 2), At(d, 3))),
                  join(join(At(d, 4), At(d, 5)), join(At(d, 6), At(d, 7))));
    }
  }
};

// How rows are joined.
struct JoinBySum {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
template <bool kSmallest>
struct JoinByOrder {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (kSmallest) {
      return hn::Min(a, b);
    } else {
      return hn::Max(a, b);
    }
  }
};

// The totals of a tile's columns are kept in slots, which are whole vectors of columns: a class with
//   void Start(int64 slots);
//   void Step(const ColumnRows&, int64 slot, int64 element);  // a vector of slots; rows count on from `element`
//   R::Total TotalOf(int64 slot) const;

/// For a reduction with
///   using Partial;                                           // what is kept of a column; becomes Total
///   static Partial Start();
///   void StepColumns(const ColumnRows&, Partial* totals) const;
template <class R>
class FoldedColumns {
 public:
  explicit FoldedColumns(const R& reduction) : reduction_(reduction) {}

  void Start(std::int64_t slots) { std::fill_n(totals_, slots, R::Start()); }

  template <class Rows>
  HWY_INLINE void Step(const Rows& rows, std::int64_t slot, std::int64_t /*element*/) {
    reduction_.StepColumns(rows, totals_ + slot);
  }
  typename R::Total TotalOf(std::int64_t slot) const { return static_cast<typename R::Total>(totals_[slot]); }

 private:
  const R& reduction_;
  HWY_ALIGN typename R::Partial totals_[kColumnsOfATile];
};

/// For a reduction that can only add neighbours: one column after the other.
template <class R>
class SeparateColumns {
 public:
  explicit SeparateColumns(const R& reduction) : reduction_(reduction) {}

  void Start(std::int64_t slots) { std::fill_n(totals_, slots, reduction_.Identity()); }

  template <class Rows>
  void Step(const Rows& rows, std::int64_t slot, std::int64_t element) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<typename R::Work>()));
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      typename R::Work column[Rows::kRows];
      for (int row = 0; row < Rows::kRows; ++row) {
        column[row] = rows.rows[row][rows.column + lane];
      }
      reduction_.AddBlock(column, Rows::kRows, element, totals_[slot + lane]);
    }
  }
  const typename R::Total& TotalOf(std::int64_t slot) const { return totals_[slot]; }

 private:
  const R& reduction_;
  typename R::Total totals_[kColumnsOfATile];
};

/// Where the slots of a tile's columns lie. The last vector of a tile that is no multiple of vectors reaches back over
/// columns that the one before it has, too, so that whole vectors are read everywhere; narrower tiles than a vector
/// are read beyond their end.
struct ColumnSlots {
  std::int64_t columns;
  std::int64_t lanes;  // a power of two

  std::int64_t whole() const { return columns & ~(lanes - 1); }
  std::int64_t count() const { return (columns + lanes - 1) & ~(lanes - 1); }
  /// The column that the vector after the whole ones begins with, and the slot of the first column that only it has.
  std::int64_t last_column() const { return columns < lanes ? 0 : columns - lanes; }
  std::int64_t last_slot() const { return 2 * whole() - last_column(); }
};

/// Adds kRows rows to all columns of a tile. `ahead`: how many bytes after each of them memory is fetched for later; 0:
/// none is.
template <class Elements, int kRows, class Columns>
void StepTile(const typename Elements::Stored* const* rows, const ColumnSlots& slots, std::int64_t element,
              std::int64_t ahead, Columns& columns) {
  constexpr std::int64_t kLine = 64 / sizeof(typename Elements::Stored);
  const std::int64_t whole = slots.whole();
  for (std::int64_t slot = 0; slot < whole; slot += slots.lanes) {
    if (ahead != 0 && slot % kLine == 0) {
      for (int row = 0; row < kRows; ++row) {
        FetchToRead(rows[row] + slot, ahead);
      }
    }
    columns.Step(ColumnRows<Elements, kRows>{rows, slot}, slot, element);
  }
  if (whole < slots.columns) {
    columns.Step(ColumnRows<Elements, kRows>{rows, slots.last_column()}, whole, element);
  }
}

/// Adds `count` rows, which `row_at` finds by their numbers, the first of which is `element`.
template <class Elements, class Columns, class RowAt>
void StepRows(std::int64_t count, const ColumnSlots& slots, std::int64_t element, const RowAt& row_at,
              std::int64_t ahead, Columns& columns) {
  const typename Elements::Stored* rows[kRowsOfAStep];
  std::int64_t row = 0;
  for (; row + kRowsOfAStep <= count; row += kRowsOfAStep) {
    for (int i = 0; i < kRowsOfAStep; ++i) {
      rows[i] = row_at(row + i);
    }
    StepTile<Elements, kRowsOfAStep>(rows, slots, element + row, ahead, columns);
  }
  for (; row < count; ++row) {
    rows[0] = row_at(row);
    StepTile<Elements, 1>(rows, slots, element + row, 0, columns);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
