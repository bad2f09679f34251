// Reductions over runs of neighbours. A reduction is a class that says what an element does:
//
//   using Element, Total;                     // Total: plain data of at most kPartBytes, in whole 4-byte words
//   static constexpr int kInputs;             // 1, or 2 whose elements meet in pairs
//   static Element Fill();                    // an element that changes no total; if there is none: Operand::present
//   static Total Identity();                  // a total that changes no other
//   Total Combine(Total, Total);              // the same bits for (a, b) and (b, a)
//   void AddTile(tile, numbers, total);       // adds Operands; which elements they have: ElementNumbers
//   void Store(arguments, place, total);      // the finished result
//
// Where Combine is costly because totals are relative to something (a maximum), lanes that meet first agree on that. A
// reduction that says how has, besides,
//
//   using Reference, Share;                   // plain data in whole 4-byte words; Reference void: it has not
//   static Reference ReferenceOf(Total);
//   static Reference Larger(Reference, Reference);  // of both; this and AddShares as Combine, the same for (b, a)
//   Share ShareOf(Total, Reference);          // what a total amounts to, relative to the reference of all that meet
//   Share AddShares(Share, Share);
//   static Total TotalOf(Share, Reference);
//
// A reduction with `static constexpr bool kHasTotalOfTile = true` has shorter ways to the same bits of a tile that
// nothing comes before, and of one that is all of a result:
//
//   static Total TotalOfTile(tile);
//   static void StoreOfTile(arguments, place, tile);
//
// A reduction with `static constexpr bool kAnyOrder = true` gives the same bits in whatever order totals are combined.
//
// Vector k of a part belongs to thread k % threads; pieces, where rows are of those (RowShares), as TilePieces says. A
// thread adds what it has in order, a tile at a time. So the order of every sum follows from type and width alone.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_ROWS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_ROWS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_reads.cuh"
#include "kernels/primitives/row_reduce.cuh"

namespace kernelwire {

/// Adds to `total` the first kCount for each thread of the `count` vectors from `begin` on.
template <int kCount, typename R, typename Rows>
__device__ __forceinline__ void AddVectors(const R& reduction, const ReduceArguments& arguments, const Rows& rows,
                                           std::int64_t begin, int count, int lane, int threads,
                                           typename R::Total& total) {
  typename Rows::Elements tile[kCount];
  rows.Load(arguments, begin, lane, threads, count, reduction.Fill(), tile);
  reduction.AddTile(tile, Rows::template NumbersOf<kCount>(begin, lane, threads), total);
}

template <typename R, typename = void>
inline constexpr bool kHasReference = false;
template <typename R>
inline constexpr bool kHasReference<R, std::enable_if_t<!std::is_void_v<typename R::Reference>>> = true;

template <typename R, typename = void>
inline constexpr bool kHasTotalOfTile = false;
template <typename R>
inline constexpr bool kHasTotalOfTile<R, std::enable_if_t<R::kHasTotalOfTile>> = true;

/// Of a tile that nothing comes before.
template <typename R, int kCount, int kLength>
__device__ __forceinline__ typename R::Total TotalOfTile(
    const R& reduction, const Operand<typename R::Element, kLength, R::kInputs> (&tile)[kCount],
    const ElementNumbers& numbers) {
  if constexpr (kHasTotalOfTile<R>) {
    return R::TotalOfTile(tile);
  } else {
    typename R::Total total = R::Identity();
    reduction.AddTile(tile, numbers, total);
    return total;
  }
}

template <typename R, typename = void>
inline constexpr bool kAnyOrder = false;
template <typename R>
inline constexpr bool kAnyOrder<R, std::enable_if_t<R::kAnyOrder>> = true;

/// Threads that a multiprocessor shall have the registers for: what is in flight of plain rows takes a third of those
/// of rows that begin anywhere, and 8-bit elements that are looked at twice take twice as many once they are wide. Left
/// alone, the compiler takes so many that too few threads wait for memory.
template <typename R, RowReads kReads>
constexpr int ThreadsOfRows() {
  if constexpr (kReads == RowReads::kAny) {
    return 512 / R::kInputs;
  } else {
    constexpr bool kTwice = kHasReference<R> && sizeof(typename R::Element) == 1;
    constexpr int kThreads = kReads == RowReads::kVectors ? 1024 : kReads == RowReads::kPieces ? 768 : 640;
    return kThreads / (kTwice ? 2 : R::kInputs);
  }
}

/// The totals of each aligned group of `lanes` lanes, a power of two, merged: in each of them.
template <typename R>
__device__ __forceinline__ typename R::Total CombineLanes(const R& reduction, typename R::Total total, int lanes) {
  if constexpr (kHasReference<R>) {
    auto reference = R::ReferenceOf(total);
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      reference = R::Larger(reference, ShuffleXor(0xFFFFFFFFU, reference, offset));
    }
    auto share = reduction.ShareOf(total, reference);
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      share = reduction.AddShares(share, ShuffleXor(0xFFFFFFFFU, share, offset));
    }
    return R::TotalOf(share, reference);
  } else {
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      total = reduction.Combine(total, ShuffleXor(0xFFFFFFFFU, total, offset));
    }
    return total;
  }
}

/// The `count` totals at `list`, one after another.
template <typename R>
__device__ __forceinline__ typename R::Total CombineList(const R& reduction, const typename R::Total* list, int count) {
  if constexpr (kHasReference<R>) {
    auto reference = R::ReferenceOf(list[0]);
#pragma unroll
    for (int i = 1; i < count; ++i) {
      reference = R::Larger(reference, R::ReferenceOf(list[i]));
    }
    auto share = reduction.ShareOf(list[0], reference);
#pragma unroll
    for (int i = 1; i < count; ++i) {
      share = reduction.AddShares(share, reduction.ShareOf(list[i], reference));
    }
    return R::TotalOf(share, reference);
  } else {
    typename R::Total total = list[0];
#pragma unroll
    for (int i = 1; i < count; ++i) {
      total = reduction.Combine(total, list[i]);
    }
    return total;
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_ROWS_CUH_
