// Parts of a granule, 16 bytes on a 16-byte boundary of which others belong to somebody else: written in as few
// accesses as their length has powers of two, and read word by word.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_EDGE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_EDGE_CUH_

#include <cuda_runtime.h>

#include <cstring>

#include "kernels/primitives/granule.cuh"

namespace kernelwire {

__device__ __forceinline__ void StorePair(void* to, unsigned first, unsigned second) {
  __builtin_assume(__isGlobal(to));
  *static_cast<uint2*>(to) = make_uint2(first, second);
}

/// Asks for the first `bytes` < 16 of a granule, whole elements, and nothing else of it: word by word, and half a one
/// where they end, which comes as the last word, until PlaceHalfWord. (In its place it would wait for a whole one there
/// that another lane has asked for.)
template <typename T>
__device__ __forceinline__ Granule LoadGranuleBegin(const unsigned char* from, int bytes) {
  constexpr int kWords = sizeof(T) == 8 ? 2 : 3;
  Granule granule{};
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    Word word{};
    LoadWordIf(bytes >= 4 * w + 4, from + 4 * w, word);
    granule.words[w] = word.words[0];
  }
  if constexpr (sizeof(T) == 2) {
    Word half{};
    LoadHalfWordIf(bytes % 4 != 0, from + bytes / 4 * 4, half);
    granule.words[3] = half.words[0];
  }
  return granule;
}

template <typename T>
__device__ __forceinline__ void PlaceHalfWord(int bytes, Granule& granule) {
  if (sizeof(T) == 2 && bytes % 4 != 0) {
#pragma unroll
    for (int w = 0; w < 3; ++w) {
      granule.words[w] = w == bytes / 4 ? granule.words[3] : granule.words[w];
    }
  }
}

/// The first `bytes` < 16 of a granule, whole elements.
template <typename T>
__device__ __forceinline__ void StoreGranuleBegin(void* at, const Granule& granule, int bytes) {
  auto* const to = static_cast<unsigned char*>(at);
  const bool eight = (bytes & 8) != 0;
  const bool four = (bytes & 4) != 0;
  if (eight) {
    StorePair(to, granule.words[0], granule.words[1]);
  }
  if (sizeof(T) < 8 && four) {
    StoreWord(to + (bytes & 8), eight ? granule.words[2] : granule.words[0]);
  }
  if (sizeof(T) < 4 && (bytes & 2) != 0) {
    const unsigned low = four ? granule.words[1] : granule.words[0];
    const unsigned high = four ? granule.words[3] : granule.words[2];
    StoreHalfWord(to + (bytes & 12), eight ? high : low);
  }
}

/// Bytes [from, 16) of a granule, 0 < from, whole elements.
template <typename T>
__device__ __forceinline__ void StoreGranuleEnd(void* at, const Granule& granule, int from) {
  auto* const to = static_cast<unsigned char*>(at);
  if (sizeof(T) < 4 && (from & 2) != 0) {
    const bool four = (from & 4) != 0;
    const unsigned low = four ? granule.words[1] : granule.words[0];
    const unsigned high = four ? granule.words[3] : granule.words[2];
    StoreHalfWord(to + from, ((from & 8) != 0 ? high : low) >> 16);
    from += 2;
  }
  if (sizeof(T) < 8 && (from & 4) != 0) {
    StoreWord(to + from, (from & 8) != 0 ? granule.words[3] : granule.words[1]);
    from += 4;
  }
  if (from == 8) {
    StorePair(to + 8, granule.words[2], granule.words[3]);
  }
}

/// Bytes [from, behind) of a granule, 0 < from, whole elements.
template <typename T>
__device__ __forceinline__ void StorePartOfGranule(void* at, const Granule& granule, int from, int behind) {
  if (behind == 16) {
    StoreGranuleEnd<T>(at, granule, from);
  } else {  // a row that begins and ends here
    T elements[kElementsOfGranule<T>];
    memcpy(elements, &granule, sizeof(elements));
#pragma unroll
    for (int j = 0; j < kElementsOfGranule<T>; ++j) {
      const int byte = j * static_cast<int>(sizeof(T));
      if (byte >= from && byte < behind) {
        static_cast<T*>(at)[j] = elements[j];
      }
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_GRANULE_EDGE_CUH_
