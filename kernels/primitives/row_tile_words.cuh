// A row of 2-byte elements that lies in a RowTile, in the words of RowWords, wherever it begins: elements are read and
// written one by one there. No lane needs what its neighbour has, and no row shares a word with another.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_WORDS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_WORDS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// What one thread holds of such a row of T, at the same places as in RowWords. `kFirst`: see there.
template <typename T, int kWordsOfThread, int kFirst>
struct TiledWords : RowLayout<T, Word, kWordsOfThread, kWordsOfThread> {
  static_assert(sizeof(T) == 2 && kFirst < kWordsOfThread);
  using Layout = RowLayout<T, Word, kWordsOfThread, kWordsOfThread>;
  using Layout::IndexOf;
  using Layout::kVectors;
  using Layout::vectors;
  template <typename Group>
  static constexpr int kStep = Layout::template kStep<Group>;
  static constexpr bool kPlain = false;
  static constexpr bool kStoresTogether = false;
  template <typename Group>
  static constexpr int kFirstThatEnds = kFirst;

  template <typename Fill, typename Group>
  __device__ __forceinline__ void Begin(const Group& /*group*/, const RowSource<T>& /*row*/, Granule* /*place*/) {}

  /// Reads the row; what could be held beyond its end becomes the fill.
  template <typename Fill, typename Group>
  __device__ __forceinline__ void Finish(const Group& group, const RowSource<T>& row, Granule* /*place*/) {
    const unsigned fill = Filled<Word>(Fill::template Value<T>()).words[0];
    const T* const elements = row.data + IndexOf(group, 0);
    __builtin_assume(__isShared(elements));
    const auto* const halves = reinterpret_cast<const std::uint16_t*>(elements);
    const int left = row.count - IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int at = v * kStep<Group>;
      unsigned& word = vectors[v].words[0];
      word = fill;
      if (v < kFirst || left > at + 1) {
        word = halves[at] | static_cast<unsigned>(halves[at + 1]) << 16;
      } else if (left > at) {
        word = __byte_perm(halves[at], fill, 0x7610);
      }
    }
  }

  /// See RowVectors; `to` is a row of the tile.
  template <typename Group, typename Result>
  static __device__ __forceinline__ void Store(const Group& group, T* to, int count, Granule* /*place*/,
                                               const Result& result) {
    T* const elements = to + IndexOf(group, 0);
    __builtin_assume(__isShared(elements));
    auto* const halves = reinterpret_cast<std::uint16_t*>(elements);
    const int left = count - IndexOf(group, 0);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int at = v * kStep<Group>;
      const unsigned word = result(v, IndexOf(group, v)).words[0];
      if (v < kFirst || left > at) {
        halves[at] = static_cast<std::uint16_t>(word);
      }
      if (v < kFirst || left > at + 1) {
        halves[at + 1] = static_cast<std::uint16_t>(word >> 16);
      }
    }
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TILE_WORDS_CUH_
