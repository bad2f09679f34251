// A short row in the registers of one thread, which has it all to itself: no lane waits for another, and what a row
// takes besides its elements it takes once, not once for each of the lanes that would share it.
//
// Neighbouring threads have neighbouring rows, which are too short for memory: it is read and written in granules all
// the same. In the usual launch rows pass through a tile of their block (row_tile.cuh). Else those of a warp, which
// begin anywhere, pass through shared memory of the warp's own as one stretch (stretch_space.cuh), if they lie one
// after another. Where they do not, or are so short that a few accesses read all of them anyway, each thread reads and
// writes its row as it lies.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_OF_THREAD_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_OF_THREAD_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/short_row.cuh"
#include "kernels/primitives/stretch_space.cuh"

namespace kernelwire {

/// What the thread holds, in words of 4 bytes. All threads of a warp that have rows call Begin, Finish and Store
/// together, or all know that some do not. `kFirst`: see RowWords. `kInTile`: rows lie in a RowTile.
template <typename T, int kWordsOfThread, int kFirst, bool kInTile>
struct RowOfThread : RowLayout<T, Word, kWordsOfThread, kWordsOfThread> {
  static_assert(sizeof(T) <= 4 && kFirst < kWordsOfThread);
  using Layout = RowLayout<T, Word, kWordsOfThread, kWordsOfThread>;
  using Layout::kLength;
  using Layout::kVectors;
  using Layout::vectors;
  static constexpr bool kPlain = false;
  /// Whether rows may pass through shared memory of the warp's own: those of up to 16 bytes would take twice the time.
  static constexpr bool kMayPass = !kInTile && kWordsOfThread > 4;
  static constexpr bool kStoresTogether = kMayPass;
  template <typename Group>
  static constexpr int kFirstThatEnds = kFirst;

  /// What is read and written of a warp's rows.
  using Stretch = StretchSpace<T, LaneGroup<32>, (kWordsOfThread + 3) / 4>;
  /// Of shared memory, for a warp.
  template <typename Group>
  static constexpr int kGranulesIn = kMayPass ? Stretch::kGranules : 0;
  template <typename Group>
  static constexpr int kGranulesOut = kGranulesIn<Group>;

  /// Asks for the row, if it passes; see RowVectors.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& group, const RowSource<T>& row, Granule* place) {
    if constexpr (kMayPass) {
      passes_ = FollowEachOther(group, row.data, row.count);
      if (passes_) {
        const bool has_before = __shfl_sync(kWholeWarp, static_cast<int>(row.has_before), 0) != 0;
        const bool has_after = __shfl_sync(kWholeWarp, static_cast<int>(row.has_after), 31) != 0;
        Stretch({}, place).Fetch(FirstOfWarp(row.data, row.count), 32 * row.count, has_before, has_after);
      }
    }
  }

  /// Reads the row; what could be held beyond its end becomes the fill.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& /*group*/, const RowSource<T>& row, Granule* place) {
#pragma unroll
    for (Word& word : vectors) {
      word = {Filled<Granule>(Fill::template Value<T>()).words[0]};
    }
    if constexpr (kInTile) {
      ReadShortRow<RowLies::kInTile, kFirst * kLength>(row.data, row.count, vectors);
    } else if (kMayPass && passes_) {
      AwaitCopies();
      __syncwarp();
      const int odd = OddBytesOf(FirstOfWarp(row.data, row.count)) / static_cast<int>(sizeof(T));
      const T* const elements = reinterpret_cast<const T*>(place) + odd;
      ReadShortRow<RowLies::kShared, kFirst * kLength>(elements + Lane() * row.count, row.count, vectors);
    } else {
      ReadShortRow<RowLies::kInMemory, kFirst * kLength>(row.data, row.count, vectors);
    }
  }

  /// See RowVectors.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* place,
                                               const Result& result) {
    Word results[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      results[v] = result(v, v * kLength);
    }
    if constexpr (kInTile) {
      WriteShortRow<RowLies::kInTile, kFirst * kLength>(results, to, count);
    } else if (kMayPass && FollowEachOther(group, to, count)) {
      Stretch stretch({}, place);
      stretch.Sync();  // what was stored last is gone
      T* const elements = reinterpret_cast<T*>(place) + Lane() * count;
      WriteShortRow<RowLies::kInTile, kFirst * kLength>(results, elements, count);
      stretch.Store(FirstOfWarp(to, count), 32 * count, 32 * count);
    } else {
      WriteShortRow<RowLies::kInMemory, kFirst * kLength>(results, to, count);
    }
  }

 private:
  static __device__ __forceinline__ int Lane() { return static_cast<int>(threadIdx.x % 32); }

  /// Where the warp's first row of `count` elements would begin, if they follow each other as this one follows it.
  template <typename Row>
  static __device__ __forceinline__ Row* FirstOfWarp(Row* row, int count) {
    return row - Lane() * count;
  }

  /// Whether all threads of the warp are here, and their rows follow each other.
  template <typename Group>
  static __device__ __forceinline__ bool FollowEachOther(const Group& group, const T* row, int count) {
    if (!group.IsTogether()) {
      return false;
    }
    const auto first = reinterpret_cast<unsigned long long>(FirstOfWarp(row, count));
    return __all_sync(kWholeWarp, static_cast<int>(__shfl_sync(kWholeWarp, first, 0) == first)) != 0;
  }

  bool passes_ = false;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_OF_THREAD_CUH_
