// A share of a row in the shared memory of the block that works on it, in words of 4 bytes, wherever the row begins.
//
// Long rows that are no whole number of vectors take a cluster's registers, and what a block has there bounds how many
// others read meanwhile: of rows of 512 KiB two blocks to a multiprocessor, which wait for memory, for each other, and
// for memory again. Shared memory holds twice as much as registers are left with, one thread begins the copy of all of
// it, and threads that hold nothing are few enough to have the registers for many parameters on their way.
//
// Elements are at the places of row_words.cuh, so that a row in registers and the same in shared memory are summed in
// one order. They lie in shared memory as in device memory, from the same place of a granule on: whole granules are
// copied at once, and the elements at either end one by one. A 16-bit row that begins in the middle of a word is put
// together from two of them as it is read.
//
// So do rows of whole vectors that begin elsewhere: there no vector need be put together from two lanes' granules.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_IN_SHARED_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_IN_SHARED_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/mbarrier.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_words.cuh"

namespace kernelwire {

/// The words or vectors of a thread, which lanes have in turn. They are read at each use: the compiler would keep them
/// in registers otherwise, and there are none.
template <typename T, typename Unit>
struct UnitsInShared {
  const unsigned* first;  // the word of memory that the first begins in
  bool odd;               // in the middle of it

  __device__ __forceinline__ Unit operator[](int v) const {
    constexpr int kWords = static_cast<int>(sizeof(Unit) / 4);
    __builtin_assume(__isShared(first));
    const volatile unsigned* const words = first + v * 32 * kWords;
    Unit unit;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      unit.words[w] = words[w];
    }
    if (sizeof(T) == 2 && odd) {
      const unsigned behind = words[kWords];
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        unit.words[w] = __funnelshift_r(unit.words[w], w + 1 < kWords ? unit.words[(w + 1) % kWords] : behind, 16);
      }
    }
    return unit;
  }
};

/// A block's share in vectors, 8 a thread: what reductions read of a row of whole vectors, whose order is that of
/// row_vectors.cuh. Results, which have no order, are made of its words.
template <typename T>
struct ShareInVectors : RowPlan<T, Granule, 8, 4> {
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
  using InRegisters = RowWords<T, kWordsOfThread, 0>;
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
  __device__ __forceinline__ ShareInVectors<T> InVectors(const Group& group, const RowSource<T>& row,
                                                         Granule* place) const {
    static_assert(kWordsOfThread * 4 == ShareInVectors<T>::kVectors * 16);
    ShareInVectors<T> share;
    share.vectors = UnitsOf<ShareInVectors<T>>(group, row.data + FirstOfBlock(group), place);
    return share;
  }

  /// Asks for the block's share, and fills what the block could hold beyond the row's end.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* place) {
    constexpr int kOfGranule = kElementsOfGranule<T>;
    const int most = static_cast<int>(blockDim.x) * kHeld;
    const int first = FirstOfBlock(group);
    const int count = max(0, min(row.count - first, most));
    const T* const from = row.data + first;
    // Elements of the place: [before, end) are the share, [whole, behind) of them whole granules.
    const int before = static_cast<int>(OddBytesOf(from) / sizeof(T));
    const int end = before + count;
    const int whole = min((before + kOfGranule - 1) / kOfGranule * kOfGranule, end);
    const int behind = max(end / kOfGranule * kOfGranule, whole);
    T* const elements = reinterpret_cast<T*>(place);
    const SharedAddress barrier = Barrier();
    if (turn_ > 0) {
      __syncthreads();  // the row before has been read
    }
    if (threadIdx.x == 0) {
      if (turn_ == 0) {
        BeginBarrier(barrier);
      }
      const auto bytes = static_cast<unsigned>((behind - whole) * static_cast<int>(sizeof(T)));
      ExpectBytes(barrier, bytes);
      if (bytes > 0) {
        CopyInBulk(SharedAddressOf(elements + whole), from + (whole - before), bytes, barrier);
      }
    }
    const int mine = static_cast<int>(blockDim.x - 1 - threadIdx.x);  // not of the warp that begins the copy
    if (mine < whole - before) {
      elements[before + mine] = from[mine];
    }
    if (mine < end - behind) {
      elements[behind + mine] = from[behind - before + mine];
    }
    for (int i = end + static_cast<int>(threadIdx.x); i < before + most; i += static_cast<int>(blockDim.x)) {
      elements[i] = Fill::template Value<T>();
    }
    vectors = UnitsOf<Plan>(group, from, place);
    ++turn_;
    __syncthreads();  // the barrier is there, and so are the ends
  }

  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& /*group*/, const RowSource<T>& /*row*/, Granule* /*place*/) {
    AwaitBytes(Barrier(), (turn_ - 1) % 2);
  }

  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* place,
                                               const Result& result) {
    InRegisters::Store(group, to, count, place, result);
  }

 private:
  /// The first element of the block's share.
  template <typename Group>
  static __device__ __forceinline__ int FirstOfBlock(const Group& group) {
    return static_cast<int>(group.block() * blockDim.x) * kHeld;
  }
  /// What this thread has of a share that begins at `from` and lies at `place`, by the plan of Of.
  template <typename Of, typename Group>
  static __device__ __forceinline__ UnitsInShared<T, typename Of::Unit> UnitsOf(const Group& group, const T* from,
                                                                                const Granule* place) {
    const int before = static_cast<int>(OddBytesOf(from) / sizeof(T));
    const int odd = sizeof(T) == 2 ? before % 2 : 0;
    const T* const its =
        reinterpret_cast<const T*>(place) + (before - odd) + (Of::IndexOf(group, 0) - FirstOfBlock(group));
    return {reinterpret_cast<const unsigned*>(its), odd != 0};
  }
  static __device__ __forceinline__ SharedAddress Barrier() {
    __shared__ std::uint64_t barrier;
    return SharedAddressOf(&barrier);
  }

  unsigned turn_ = 0;  // rows begun
};

/// The shared memory of a block that holds a share of a row.
template <typename Held>
class ShareSpace {
 public:
  static constexpr int kGranules = 1;  // some

  __device__ __forceinline__ Granule* In(int /*input*/) const {
    extern __shared__ Granule granules_of_block[];
    return granules_of_block;
  }
  __device__ __forceinline__ Granule* Out() const { return nullptr; }

  /// For a launch. A share begins anywhere in its first granule, and a word beyond its last may be read.
  static constexpr std::size_t BytesOfBlock(unsigned threads) { return BytesOfShare(threads, Held::kVectors); }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_IN_SHARED_CUH_
