// What becomes of the totals of a result's parts: where they wait for each other, and how they are merged. The order is
// that of ReduceParts, whoever merges them.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/vector_io.cuh"

namespace kernelwire {

/// Where the total of a part waits for its like: [part][result] of the request's workspace.
template <typename Total>
__device__ __forceinline__ Total& PartTotal(const ResultPlace& place, std::int64_t part) {
  return static_cast<Total*>(place.workspace)[part * place.results + place.index];
}

/// Merges slots pairwise, as ReduceParts says; the outcome is in slots[0] for thread 0. `lane` counts the threads of
/// these slots, which lie `stride` apart. Requires: all threads of the block call it with equal `count`.
template <typename R>
__device__ void MergeSlots(const R& reduction, typename R::Total* slots, int count, int lane, int stride) {
  for (int half = count / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      slots[lane * stride] = reduction.Combine(slots[lane * stride], slots[(lane + half) * stride]);
    }
  }
}

/// The same of slots side by side: the outcome, in the first warp, which needs no barriers between the last steps.
template <typename R>
__device__ __forceinline__ typename R::Total MergeSlotsOfBlock(const R& reduction, typename R::Total* slots,
                                                               int count) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int half = count / 2; half >= 32; half /= 2) {
    __syncthreads();
    if (thread < half) {
      slots[thread] = reduction.Combine(slots[thread], slots[thread + half]);
    }
  }
  __syncthreads();
  typename R::Total total = R::Identity();
  if (thread < 32) {
    total = thread < count ? slots[thread] : total;
    for (int half = min(count, 32) / 2; half > 0; half /= 2) {
      total = reduction.Combine(total, ShuffleXor(0xFFFFFFFFU, total, half));
    }
  }
  return total;
}

/// A total on its way to another block, 16 bytes at a time: three words and a mark. Each 16 bytes are written and read
/// as one, so that who finds the mark finds the words, and nobody waits until memory is in order.
template <typename Total>
class Arrival {
 public:
  /// Places of 16 bytes that it takes.
  static constexpr int kUnits = (static_cast<int>(sizeof(Total)) + 11) / 12;

  /// Requires: kUnits places that are zero.
  static __device__ __forceinline__ void Leave(const Total& total, uint4* places) {
    unsigned words[3 * kUnits] = {};
    memcpy(words, &total, sizeof(total));
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      Write(uint4{words[3 * i], words[3 * i + 1], words[3 * i + 2], kMark}, places + i);
    }
  }

  /// Waits until it is there, and leaves the places zero. Requires: whoever leaves it runs, or will.
  static __device__ __forceinline__ Total Await(uint4* places) {
    unsigned words[3 * kUnits];
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      uint4 unit;
      do {
        unit = Read(places + i);
      } while (unit.w != kMark);
      words[3 * i] = unit.x;
      words[3 * i + 1] = unit.y;
      words[3 * i + 2] = unit.z;
      Write(uint4{}, places + i);
    }
    Total total;
    memcpy(&total, words, sizeof(total));
    return total;
  }

 private:
  static constexpr unsigned kMark = 1;

  static __device__ __forceinline__ void Write(const uint4& unit, uint4* place) {
    asm volatile(
        "{\n"
        "  .reg .b64 low, high;\n"
        "  .reg .b128 unit;\n"
        "  mov.b64 low, {%0, %1};\n"
        "  mov.b64 high, {%2, %3};\n"
        "  mov.b128 unit, {low, high};\n"
        "  st.relaxed.gpu.global.b128 [%4], unit;\n"
        "}\n" ::"r"(unit.x),
        "r"(unit.y), "r"(unit.z), "r"(unit.w), "l"(place)
        : "memory");
  }

  static __device__ __forceinline__ uint4 Read(const uint4* place) {
    uint4 unit;
    asm volatile(
        "{\n"
        "  .reg .b64 low, high;\n"
        "  .reg .b128 unit;\n"
        "  ld.relaxed.gpu.global.b128 unit, [%4];\n"
        "  mov.b128 {low, high}, unit;\n"
        "  mov.b64 {%0, %1}, low;\n"
        "  mov.b64 {%2, %3}, high;\n"
        "}\n"
        : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
        : "l"(place)
        : "memory");
    return unit;
  }
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_PARTS_CUH_
