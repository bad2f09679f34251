// The way of a thread down a few neighbouring columns, and what it keeps of them.
//
// A thread adds its rows a tile at a time, each column by itself. A reduction may have a way to add neighbouring
// columns together, and a narrower way to keep what becomes of a few tiles than its Total, which takes most of the
// registers of a kernel with many columns a thread, and of the time where it is f64. It then has, for any kLength,
//
//   using ColumnSum;                                            // void: none
//   void AddColumns(rows, numbers, ColumnSum (&sums)[kLength]); // adds a tile to each column
//
// ColumnSum is Total, or arithmetic: then ColumnSum(Identity()) is what nothing is, and Total(ColumnSum) what
// kTilesOfColumnSum tiles amount to.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMN_WALK_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMN_WALK_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_steps.h"
#include "kernels/primitives/reduce_tuning.h"

namespace kernelwire {

inline constexpr int kTilesOfColumnSum = 4;

template <typename R, typename = void>
struct ColumnSumOf {
  using Type = typename R::Total;
  static constexpr bool kTogether = false;
  static constexpr bool kNarrow = false;
  static __device__ __forceinline__ Type Zero() { return R::Identity(); }
};
template <typename R>
struct ColumnSumOf<R, std::enable_if_t<!std::is_void_v<typename R::ColumnSum>>> {
  using Type = typename R::ColumnSum;
  static constexpr bool kTogether = true;
  static constexpr bool kNarrow = !std::is_same_v<Type, typename R::Total>;
  static __device__ __forceinline__ Type Zero() { return static_cast<Type>(R::Identity()); }
};

/// How kLength neighbouring columns lie in memory.
enum class ColumnReads : std::uint8_t {
  kAligned,    // one run a piece, and aligned, as single columns always are
  kUnaligned,  // one run a piece, and they begin anywhere
  kAny,        // runs lie anywhere
};

/// One column of a tile of rows.
template <typename T, int kInputs>
struct ColumnOfTile {
  Operand<T, 1, kInputs> tile[kVectorsInFlight];
};
template <typename T, int kLength, int kInputs>
__device__ __forceinline__ ColumnOfTile<T, kInputs> ColumnOf(
    const Operand<T, kLength, kInputs> (&rows)[kVectorsInFlight], int j) {
  ColumnOfTile<T, kInputs> column;
#pragma unroll
  for (int u = 0; u < kVectorsInFlight; ++u) {
    column.tile[u].present = rows[u].present >> j & 1U;
#pragma unroll
    for (int i = 0; i < kInputs; ++i) {
      column.tile[u].inputs[i] = Packed<T, 1>::Filled(rows[u].inputs[i].Get(j));
    }
  }
  return column;
}

/// Adds a tile of rows, first, first + step, ..., to the sums of their columns. `kAll`: to Zero. Of wider elements,
/// whose tiles take all registers, logsumexp takes a tenth longer by TotalOfTile (H100).
template <bool kAll, typename R, int kLength>
__device__ __forceinline__ void AddRows(
    const R& reduction, const Operand<typename R::Element, kLength, R::kInputs> (&rows)[kVectorsInFlight],
    std::int64_t first, int step, typename ColumnSumOf<R>::Type (&sums)[kLength]) {
  const ElementNumbers numbers{first, step, 1};
  constexpr bool kTotals = kAll && kHasTotalOfTile<R> && sizeof(typename R::Element) <= 2;
  if constexpr (ColumnSumOf<R>::kTogether && !kTotals) {
    reduction.AddColumns(rows, numbers, sums);
  } else {
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      const auto column = ColumnOf(rows, j);
      if constexpr (kTotals) {
        sums[j] = R::TotalOfTile(column.tile);
      } else {
        reduction.AddTile(column.tile, numbers, sums[j]);
      }
    }
  }
}

/// Columns [column, column + kLength) of a run, and a lane's rows of a part of them: lane, lane + step, ... below
/// `rows`, counted from row `begin`.
template <typename R, int kLength, ColumnReads kReads>
class ColumnWalk {
 public:
  using T = typename R::Element;
  using Rows = Operand<T, kLength, R::kInputs>;
  using Sum = typename ColumnSumOf<R>::Type;

  /// One that has nothing to add.
  __device__ __forceinline__ ColumnWalk(const ReduceArguments& arguments, int step)
      : arguments_(arguments), step_(step), begin_(0), row_(0), left_(0) {}

  /// `place`: of the run's first result.
  __device__ __forceinline__ void Start(const ResultPlace& place, std::int64_t column, std::int64_t begin, int lane,
                                        int rows) {
    const ReduceLayout& layout = arguments_.layout;
    std::int64_t first = column;
    if constexpr (kPlain) {
      first += (begin + lane) * layout.run;
    } else if (layout.kept.axes > 0) {
      first += layout.kept.Offset(layout.run == 1 ? place.result : place.result / layout.run);
    }
#pragma unroll
    for (int i = 0; i < R::kInputs; ++i) {
      at_[i] = static_cast<const T*>(place.inputs[i]) + (place.piece * layout.piece + first);
    }
    begin_ = begin;
    row_ = lane;
    left_ = rows - lane;
  }

  /// Adds the next `count` tiles, or as many as are left. Narrow ones go by two, both on their way before the first is
  /// looked at.
  __device__ __forceinline__ void Add(const R& reduction, int count, Sum (&sums)[kLength]) {
    if constexpr (sizeof(T) * kLength <= 4) {
#pragma unroll 1
      for (; count > 1 && left_ > step_ * kVectorsInFlight; count -= 2) {
        Rows first[kVectorsInFlight];
        Rows second[kVectorsInFlight];
        const std::int64_t row = begin_ + row_;
        Load(reduction.Fill(), first);
        Advance();
        Load(reduction.Fill(), second);
        AddRows<false>(reduction, first, row, step_, sums);
        AddRows<false>(reduction, second, begin_ + row_, step_, sums);
        Advance();
      }
    }
#pragma unroll 1
    for (; count > 0 && left_ > 0; --count) {
      Rows rows[kVectorsInFlight];
      Load(reduction.Fill(), rows);
      AddRows<false>(reduction, rows, begin_ + row_, step_, sums);
      Advance();
    }
  }

 private:
  static constexpr bool kPlain = kReads != ColumnReads::kAny;

  __device__ __forceinline__ void Advance() {
    if constexpr (kPlain) {
#pragma unroll
      for (int i = 0; i < R::kInputs; ++i) {
        at_[i] += step_ * kVectorsInFlight * arguments_.layout.run;
      }
    }
    row_ += step_ * kVectorsInFlight;
    left_ -= step_ * kVectorsInFlight;
  }

  __device__ __forceinline__ void Load(T fill, Rows (&rows)[kVectorsInFlight]) const {
    const std::int64_t stride = arguments_.layout.run;
    const bool whole = step_ * (kVectorsInFlight - 1) < left_;
    if (kPlain && whole) {
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        rows[u] = LoadAt(u * (step_ * stride));
      }
      return;
    }
    std::int64_t offsets[kVectorsInFlight];
    if constexpr (kPlain) {
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        offsets[u] = min(u * step_, left_ - 1) * stride;
      }
    } else {
      FindRows(offsets);
    }
    LoadThere(offsets, fill, rows);
  }

  /// Of rows of several axes; in place of those that are not there, the first.
  __device__ __forceinline__ void FindRows(std::int64_t (&offsets)[kVectorsInFlight]) const {
    unsigned last;
    FindOffsets(arguments_.layout.reduced, arguments_.steps, begin_ + row_, offsets, &last);
#pragma unroll
    for (int u = 1; u < kVectorsInFlight; ++u) {
      offsets[u] = u * step_ < left_ ? offsets[u] : offsets[0];
    }
  }

  /// Rows that are not there are read as another is, and then filled: a branch around each read would have it waited
  /// for.
  __device__ __forceinline__ void LoadThere(const std::int64_t (&offsets)[kVectorsInFlight], T fill,
                                            Rows (&rows)[kVectorsInFlight]) const {
    if (kLength > 1 && !kPlain && arguments_.aligned) {
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        rows[u] = LoadAt<true>(offsets[u]);
      }
    } else {
#pragma unroll
      for (int u = 0; u < kVectorsInFlight; ++u) {
        rows[u] = LoadAt(offsets[u]);
      }
    }
#pragma unroll
    for (int u = 0; u < kVectorsInFlight; ++u) {
      if (u * step_ >= left_) {
        rows[u] = Rows::Filled(fill);
      }
    }
  }

  template <bool kAligned = kReads == ColumnReads::kAligned || kLength == 1>
  __device__ __forceinline__ Rows LoadAt(std::int64_t offset) const {
    Rows rows;
    rows.present = Rows::kAll;
#pragma unroll
    for (int i = 0; i < R::kInputs; ++i) {
      if constexpr (kAligned) {
        rows.inputs[i] = Packed<T, kLength>::Load(at_[i] + offset);
      } else {
        rows.inputs[i] = Packed<T, kLength>::LoadUnaligned(at_[i] + offset);
      }
    }
    return rows;
  }

  const ReduceArguments& arguments_;
  const int step_;
  const T* at_[R::kInputs];  // with one run a piece: in row_; else in the run's row 0
  std::int64_t begin_;
  int row_;
  int left_;  // of the part, from row_ on
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_COLUMN_WALK_CUH_
