// A share of a row in the shared memory of the block that works on it, in words of 4 bytes, wherever the row begins.
//
// Long rows that are no whole number of vectors take a cluster's registers, and what a block has there bounds how many
// others read meanwhile: of rows of 512 KiB two blocks to a multiprocessor, which wait for memory, for each other, and
// for memory again. Shared memory holds twice as much as registers are left with, one thread begins the copy of all of
// it, and threads that hold nothing are few enough to have the registers for many parameters on their way.
//
// Elements are at the places of row_words.cuh, so that a row in registers and the same in shared memory are summed in
// one order. They lie in shared memory as in device memory, at the same place of a granule: whole granules are
// copied at once, and the elements at either end one by one. A 16-bit row that begins in the middle of a word is put
// together from two of them as it is read.
//
// So do rows of whole vectors that begin elsewhere, of one input or two: there no vector need be put together from two
// lanes' granules.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_IN_SHARED_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_IN_SHARED_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/mbarrier.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_words.cuh"

namespace kernelwire {

/// The words or vectors of a thread, which lanes have in turn. They are read at each use: the compiler would keep them
/// in registers otherwise, and there are none.
template <typename T, typename Unit>
struct UnitsInShared {
  SharedAddress first;  // of the word that the first begins in
  bool odd;             // in the middle of it

  __device__ __forceinline__ Unit operator[](int v) const {
    constexpr int kWords = static_cast<int>(sizeof(Unit) / 4);
    const SharedAddress words = first + static_cast<unsigned>(v * 32 * kWords * 4);
    Unit unit;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      unit.words[w] = WordAt(words + 4 * w);
    }
    if (sizeof(T) == 2 && odd) {
      const unsigned behind = WordAt(words + 4 * kWords);
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        unit.words[w] = __funnelshift_r(unit.words[w], w + 1 < kWords ? unit.words[(w + 1) % kWords] : behind, 16);
      }
    }
    return unit;
  }

 private:
  /// By address: of a pointer that is said to be one of shared memory, nvcc 13.0 took a reachable use for unreachable.
  static __device__ __forceinline__ unsigned WordAt(SharedAddress at) {
    unsigned word = 0;
    asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(word) : "r"(at));
    return word;
  }
};

/// Of a share with so many words a thread, which begins anywhere in its first two; a word behind its last may be read.
/// With a barrier behind them, an even number.
__device__ __forceinline__ unsigned GranulesOfShare(int words) {
  return blockDim.x * static_cast<unsigned>(words) / 4 + 3;
}

/// A block's share in vectors: what reductions read of a row of whole vectors, whose order is that of row_vectors.cuh.
/// Results, which have no order, are made of its words.
template <typename T, int kVectorsOfThread>
struct ShareInVectors : RowPlan<T, Granule, kVectorsOfThread, 4> {
  static constexpr bool kInShared = true;
  static constexpr bool kPlain = false;
  static constexpr bool kStoresTogether = false;
  template <typename Group>
  static constexpr int kFirstThatEnds = 0;

  UnitsInShared<T, Granule> vectors;

  __device__ __forceinline__ void StayPacked() {}
};

/// What one thread holds of a row of T; as RowWords, for blocks only. Below compute capability 9.0 there is nothing.
template <typename T, int kWordsOfThread>
struct RowInShared : RowPlan<T, Word, kWordsOfThread, kWordsOfThread> {
  using Plan = RowPlan<T, Word, kWordsOfThread, kWordsOfThread>;
  using InRegisters = RowWords<T, kWordsOfThread, 0, 8>;
  using Plan::kHeld;
  using Plan::kLength;
  template <typename Group>
  static constexpr int kStep = Plan::template kStep<Group>;
  static constexpr bool kInShared = true;
  static constexpr bool kPlain = false;
  static constexpr bool kStoresTogether = InRegisters::kStoresTogether;
  template <typename Group>
  static constexpr int kFirstThatEnds = 0;

  UnitsInShared<T, Word> vectors;

  /// As RowPlan's, but that the compiler finds all but the first anew, rather than to keep one for each word.
  template <typename Group>
  static __device__ __forceinline__ int IndexOf(const Group& group, int v) {
    int first = Plan::IndexOf(group, 0);
    if (v > 0) {
      asm volatile("" : "+r"(first));
    }
    return first + v * kStep<Group>;
  }
  template <typename Group>
  static __device__ __forceinline__ bool IsFull(const Group& group, int count) {
    return InRegisters::IsFull(group, count);
  }

  __device__ __forceinline__ void StayPacked() {}

  /// The same share in vectors. `row`, `place`: those of Begin.
  template <typename Group>
  __device__ __forceinline__ auto InVectors(const Group& group, const RowSource<T>& row, Granule* place) const {
    using Share = ShareInVectors<T, kWordsOfThread / 4>;
    static_assert(Share::kHeld == kHeld);
    Share share;
    share.vectors = UnitsOf<Share>(group, row.data + FirstOfBlock(group), place);
    return share;
  }

  /// Asks for the block's share, and fills what the block could hold beyond the row's end.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* place) {
    const Extent extent(group, row);
    T* const elements = reinterpret_cast<T*>(place);
    if (turn_ > 0) {
      __syncthreads();  // the row before has been read
    }
    if (threadIdx.x == 0) {
      const SharedAddress barrier = BarrierOf(place);
      if (turn_ == 0) {
        BeginBarrier(barrier);
      }
      const auto bytes = static_cast<unsigned>((extent.behind - extent.whole) * static_cast<int>(sizeof(T)));
      ExpectBytes(barrier, bytes);
      if (bytes > 0) {
        CopyInBulk(SharedAddressOf(elements + extent.whole), extent.from + (extent.whole - extent.before), bytes,
                   barrier, CachePriority::kUsual);
      }
    }
    // Kept in registers until Finish, so that the second of two inputs is asked for before these have come.
    const int mine = IndexAtEnds();
    first_ = mine < extent.whole - extent.before ? extent.from[mine] : T{};
    last_ = mine < extent.end - extent.behind ? extent.from[extent.behind - extent.before + mine] : T{};
    const int most = extent.before + static_cast<int>(blockDim.x) * kHeld;
    for (int i = extent.end + static_cast<int>(threadIdx.x); i < most; i += static_cast<int>(blockDim.x)) {
      elements[i] = Fill::template Value<T>();
    }
    vectors = UnitsOf<Plan>(group, extent.from, place);
    ++turn_;
  }

  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* place) {
    const Extent extent(group, row);
    T* const elements = reinterpret_cast<T*>(place);
    const int mine = IndexAtEnds();
    if (mine < extent.whole - extent.before) {
      elements[extent.before + mine] = first_;
    }
    if (mine < extent.end - extent.behind) {
      elements[extent.behind + mine] = last_;
    }
    __syncthreads();  // the barrier is there, and so are the ends
    AwaitBytes(BarrierOf(place), (turn_ - 1) % 2);
  }

  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* place,
                                               const Result& result) {
    InRegisters::Store(group, to, count, place, result);
  }

 private:
  /// What a block has of a row, which begins at `from`. Elements of the place: [before, end) are the share, [whole,
  /// behind) of them whole granules.
  struct Extent {
    const T* from;
    int before;
    int end;
    int whole;
    int behind;

    template <typename Group>
    __device__ __forceinline__ Extent(const Group& group, const RowSource<T>& row) {
      constexpr int kOfGranule = kElementsOfGranule<T>;
      const int first = FirstOfBlock(group);
      from = row.data + first;
      before = PlaceOf(from);
      end = before + max(0, min(row.count - first, static_cast<int>(blockDim.x) * kHeld));
      whole = min((before + kOfGranule - 1) / kOfGranule * kOfGranule, end);
      behind = max(end / kOfGranule * kOfGranule, whole);
    }
  };

  /// Where a share that begins at `from` does in its place, in elements.
  static __device__ __forceinline__ int PlaceOf(const T* from) {
    return static_cast<int>(ByteOfOtherHalf(from) / sizeof(T));
  }
  /// This thread's among those that copy an element at either end: not of the warp that begins the copy.
  static __device__ __forceinline__ int IndexAtEnds() { return static_cast<int>(blockDim.x - 1 - threadIdx.x); }
  /// The first element of the block's share.
  template <typename Group>
  static __device__ __forceinline__ int FirstOfBlock(const Group& group) {
    return static_cast<int>(group.block() * blockDim.x) * kHeld;
  }
  /// What this thread has of a share that begins at `from` and lies at `place`, by the plan of Of.
  template <typename Of, typename Group>
  static __device__ __forceinline__ UnitsInShared<T, typename Of::Unit> UnitsOf(const Group& group, const T* from,
                                                                                Granule* place) {
    const int before = PlaceOf(from);
    const int odd = sizeof(T) == 2 ? before % 2 : 0;
    const int its = before - odd + (Of::IndexOf(group, 0) - FirstOfBlock(group));
    return {SharedAddressOf(place) + static_cast<unsigned>(its * static_cast<int>(sizeof(T))), odd != 0};
  }
  static __device__ __forceinline__ SharedAddress BarrierOf(Granule* place) {
    return SharedAddressOf(reinterpret_cast<std::uint64_t*>(place + GranulesOfShare(kWordsOfThread)));
  }

  unsigned turn_ = 0;  // rows begun
  T first_;            // what this thread copies at either end, if anything
  T last_;
};

/// The shared memory of a block that holds shares of kInputs rows, each with a barrier behind it.
template <typename Held, int kInputs>
class ShareSpace {
 public:
  static constexpr int kGranules = 1;  // some

  __device__ __forceinline__ Granule* In(int input) const {
    extern __shared__ Granule granules_of_block[];
    return granules_of_block + static_cast<unsigned>(input) * (GranulesOfShare(Held::kVectors) + 1);
  }
  __device__ __forceinline__ Granule* Out() const { return nullptr; }

  /// For a launch.
  static constexpr std::size_t BytesOfBlock(unsigned threads) {
    return kInputs * BytesOfShare(threads, Held::kVectors);
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_IN_SHARED_CUH_
