// How the host walks down a tile of columns, kRowsOfAFold rows at a time. Included once per Highway target, after
// foreach_target.
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

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// Rows that columns are walked down before their partial results are folded into the totals.
inline constexpr std::int64_t kRowsOfAFold = 64;

/// Columns for a reduction that can only add neighbours: a tile of a fold's rows is turned around in a buffer.
template <class R>
class TurnedColumns {
 public:
  TurnedColumns(const R& reduction, std::int64_t columns) : reduction_(reduction), columns_(columns) {}

  /// Row number `row` of the fold.
  void AddRow(const typename R::Work* x, std::int64_t row) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      turned_[j * kRowsOfAFold + row] = x[j];
    }
  }
  /// Ends a fold of `rows` rows whose first is element number `first`.
  void Fold(std::int64_t first, std::int64_t rows, typename R::Total* totals) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      reduction_.AddBlock(turned_ + j * kRowsOfAFold, rows, first, totals[j]);
    }
  }

 private:
  const R& reduction_;
  std::int64_t columns_;
  HWY_ALIGN typename R::Work turned_[kColumnsOfATile * kRowsOfAFold];
};

/// Columns side by side, for a reduction with
///   using Partial;                             // what a fold's elements of one column come to
///   static Partial Start();
///   void StepEach(x, count, partials) const;   // element j joins partials[j]
///   void Join(Partial, Total&) const;
template <class R>
class FoldedColumns {
 public:
  FoldedColumns(const R& reduction, std::int64_t columns) : reduction_(reduction), columns_(columns) {
    std::fill_n(partials_, columns, R::Start());
  }

  void AddRow(const typename R::Work* x, std::int64_t /*row*/) { reduction_.StepEach(x, columns_, partials_); }

  void Fold(std::int64_t /*first*/, std::int64_t /*rows*/, typename R::Total* totals) {
    for (std::int64_t j = 0; j < columns_; ++j) {
      reduction_.Join(partials_[j], totals[j]);
      partials_[j] = R::Start();
    }
  }

 private:
  const R& reduction_;
  std::int64_t columns_;
  HWY_ALIGN typename R::Partial partials_[kColumnsOfATile];
};

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
