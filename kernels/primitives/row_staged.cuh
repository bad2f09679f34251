// A row in the registers of a cluster's warps, and the next one on its way to their shared memory.
//
// Registers have room for 8 vectors of each of two rows. What is on its way to shared memory takes none of them. So a
// thread can have 16 vectors of the row that is worked on, and a group of multiprocessors two rows at a time which are
// too long for registers to hold twice; and odd rows are read in bulk, rather than word by word: lanes take their words
// from shared memory. Each warp copies what its lanes will hold, and waits for nobody else's. Where registers do hold
// two rows of vectors, they are faster: a copy begins only when the one before has been taken.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_STAGED_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_STAGED_CUH_

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/cache_priority.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/granule_edge.cuh"
#include "kernels/primitives/mbarrier.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// What a warp copies of each row, as memory has it: at most so many granules, on their way to a place in shared
/// memory. All lanes call each function.
template <int kMostGranules>
struct StagedSpan {
  /// Of the place: a copy, which begins with the first or the second of them, and a barrier.
  static constexpr int kGranules = (kMostGranules + 3) / 2 * 2;

  /// Once, before all else; lanes meet before any waits.
  static __device__ __forceinline__ void Open(Granule* place) {
    if (threadIdx.x % 32 == 0) {
      BeginBarrier(BarrierOf(place));
    }
  }
  /// Asks for the `span()` of a row. All lanes have met since they read what was there before.
  template <typename FindSpan>
  static __device__ __forceinline__ void Begin(Granule* place, const FindSpan& span) {
    if (threadIdx.x % 32 == 0) {
      const GranuleSpan its = span();
      if (its.bytes > 0) {
        CopyInBulk(SharedAddressOf(CopyAt(place, its)), its.first, static_cast<unsigned>(its.bytes), BarrierOf(place),
                   CachePriority::kLong);
      }
      if (its.behind > 0) {
        CopyEnd(place, its);
      }
      // Last, so that who waits sees all of it; what comes before it is expected counts, too.
      ExpectBytes(BarrierOf(place), static_cast<unsigned>(its.bytes));
    }
  }
  /// Waits for that of the `turn`-th row, the first of which is 0.
  static __device__ __forceinline__ void Await(Granule* place, unsigned turn) {
    AwaitBytes(BarrierOf(place), turn % 2);
  }
  static __device__ __forceinline__ Granule* CopyAt(Granule* place, const GranuleSpan& span) {
    return place + ByteOfOtherHalf(span.first) / sizeof(Granule);
  }

 private:
  static __device__ __forceinline__ void CopyEnd(Granule* place, const GranuleSpan& span) {
    using Shortest = unsigned short;  // elements
    Granule end = LoadGranuleBegin<Shortest>(static_cast<const unsigned char*>(span.first) + span.bytes, span.behind);
    PlaceHalfWord<Shortest>(span.behind, end);
    CopyAt(place, span)[span.bytes / static_cast<int>(sizeof(Granule))] = end;
  }
  static __device__ __forceinline__ SharedAddress BarrierOf(Granule* place) {
    return SharedAddressOf(place + kMostGranules + 1);
  }
};

/// `Held`, RowVectors of plain rows, ShiftedVectors or RowWords, whose rows come so. All lanes of a warp call Begin,
/// Take, Finish and Store together; Take follows Begin, in a copy of what that was called of, and Begin of the next row
/// comes behind it. Compute capability 9.0 and above.
template <typename Held>
struct StagedRow : Held {
  using T = typename Held::Element;
  using Span = StagedSpan<Held::kMostGranulesOfSpan>;
  /// Of shared memory, of a warp.
  template <typename Group>
  static constexpr int kGranulesIn = Span::kGranules;
  template <typename Group>
  static constexpr int kGranulesOut = 0;

  /// Asks for a row.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* place) {
    if (turn_ == 0) {
      Span::Open(place);
    }
    Span::Begin(place, [&] { return Held::SpanOf(group, row); });
    ++turn_;
  }

  /// Waits for it; then its place is free. Finish must follow before any is used.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Take(const Group& group, const RowSource<T>& row, Granule* place) {
    Await(place);
    this->template TakeFrom<Fill>(group, row, Span::CopyAt(place, Held::SpanOf(group, row)));
    __syncwarp();
  }
  /// The same of a second row, which `first`, that has taken another, is combined with (CombineFrom).
  template <typename Group, typename Combine>
  __device__ __forceinline__ void TakeInto(Held& first, const Group& group, const RowSource<T>& row, Granule* place,
                                           const Combine& combine) const {
    Await(place);
    first.CombineFrom(group, row, Span::CopyAt(place, Held::SpanOf(group, row)), combine);
    __syncwarp();
  }

 private:
  __device__ __forceinline__ void Await(Granule* place) const {
    if (turn_ == 1) {
      __syncwarp();  // the barrier has begun
    }
    Span::Await(place, turn_ - 1);
  }

  unsigned turn_ = 0;  // rows that have been asked for
};

/// The places of a block's warps. Of two inputs in vectors that are not moved a multiprocessor has one block at a time:
/// what is on its way to two keeps memory from what is written (0.84 to 0.91 of a copy on an H200, and 0.97 so).
template <typename Held, int kInputs>
class StagedSpace : public RowSpace<Held, BlockGroup, kInputs> {
 public:
  static __host__ __device__ constexpr std::size_t BytesOfBlock(unsigned threads) {
    const std::size_t bytes = RowSpace<Held, BlockGroup, kInputs>::BytesOfBlock(threads);
    return kInputs == 2 && kInVectors && !Held::kMoves && bytes < kMoreThanHalf ? kMoreThanHalf : bytes;
  }

 private:
  static constexpr bool kInVectors = sizeof(typename Held::Unit) == sizeof(Granule);
  static constexpr std::size_t kMoreThanHalf = std::size_t{115} * 1024;  // of compute capability 9.0's 227 KiB
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_STAGED_CUH_
