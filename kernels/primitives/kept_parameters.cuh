// Weights and biases that a block keeps in shared memory for many rows of 2-byte elements, in pairs for words as memory
// has them (row_words_in_place.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_KEPT_PARAMETERS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_KEPT_PARAMETERS_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/granule.cuh"

namespace kernelwire {

/// Those of a word's two elements, as they are.
template <typename T>
struct alignas(8) PackedPair {
  Word weights;
  Word biases;

  __device__ __forceinline__ PackedPair(const Word& weight, const Word& bias) : weights(weight), biases(bias) {}
  __device__ __forceinline__ void Unpacked(float (&weight)[2], float (&bias)[2]) const {
    Unpack<T>(weights, weight);
    Unpack<T>(biases, bias);
  }
};

/// The same in f32: twice the space, and fewer instructions.
template <typename T>
struct alignas(16) WidePair {
  float weights[2];
  float biases[2];

  __device__ __forceinline__ WidePair(const Word& weight, const Word& bias) {
    Unpack<T>(weight, weights);
    Unpack<T>(bias, biases);
  }
  __device__ __forceinline__ void Unpacked(float (&weight)[2], float (&bias)[2]) const {
    const float4 all = *reinterpret_cast<const float4*>(this);  // at once
    weight[0] = all.x;
    weight[1] = all.y;
    bias[0] = all.z;
    bias[1] = all.w;
  }
};

/// Fills `pairs` with those of words [begin, end) of rows of `width` elements, of which the first has `odd` elements of
/// another row, as may the last. All threads of a block call it, and meet before any uses them.
template <typename Pair, typename T>
__device__ __forceinline__ void KeepParameters(Pair* pairs, const T* weight, const T* bias, int width, int odd,
                                               int begin, int end) {
  constexpr int kTogether = 4;  // on their way
  const auto* const weights = reinterpret_cast<const unsigned short*>(weight);
  const auto* const biases = reinterpret_cast<const unsigned short*>(bias);
  const auto threads = static_cast<int>(blockDim.x);
#pragma unroll 1
  for (int word = begin + static_cast<int>(threadIdx.x); word < end; word += kTogether * threads) {
    unsigned halves[kTogether][4];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      // Where a word has another row's element, or there is no word, any: without a condition all are asked for first.
      const int element = 2 * (word + i * threads) - odd;
      const int first = min(max(element, 0), width - 1);
      const int second = min(element + 1, width - 1);
      halves[i][0] = __ldg(weights + first);
      halves[i][1] = __ldg(weights + second);
      halves[i][2] = __ldg(biases + first);
      halves[i][3] = __ldg(biases + second);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (word + i * threads < end) {
        pairs[word - begin + i * threads] =
            Pair(Word{{halves[i][0] | halves[i][1] << 16}}, Word{{halves[i][2] | halves[i][3] << 16}});
      }
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_KEPT_PARAMETERS_CUH_
