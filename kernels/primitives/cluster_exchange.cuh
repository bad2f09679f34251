// Blocks of a cluster tell each other some values, through distributed shared memory (compute capability 9.0 and
// above).
//
// A barrier of the whole cluster would do, but its release waits until all earlier writes of the block have arrived,
// also those of results to device memory: a round trip for each row. Here every word travels with its own notice of
// arrival (st.async), and a block waits for the words it expects and for nothing else.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_CLUSTER_EXCHANGE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_CLUSTER_EXCHANGE_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/mbarrier.cuh"

namespace kernelwire {

/// The most blocks of a cluster; above 8 it is a size that kernels have to consent to.
inline constexpr int kMaxClusterBlocks = 16;

/// Every thread of every block of a cluster constructs one at the kernel's start, and all exchange equally often. For a
/// single block it does nothing.
class ClusterExchange {
 public:
  __device__ __forceinline__ explicit ClusterExchange(int cluster_blocks) {
#if __CUDA_ARCH__ >= 900
    if (cluster_blocks > 1) {
      blocks_ = static_cast<unsigned>(cluster_blocks);
      asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(block_));
      if (threadIdx.x == 0) {
        for (int turn = 0; turn < 2; ++turn) {
          BeginBarrier(Barrier(turn));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      }
      // Others may write here only once this block has come so far. They wait in their first exchange.
      asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    }
#else
    static_cast<void>(cluster_blocks);
#endif
  }

  /// This block's number in the cluster.
  __device__ __forceinline__ unsigned block() const { return block_; }

  /// Whether the next exchange is as that of `other`, after the first: there are two barriers, each of two phases.
  __device__ __forceinline__ bool IsInTurnOf(const ClusterExchange& other) const {
    return exchanges_ % 4 == other.exchanges_ % 4;
  }

  /// Blocks give `values` values in all to each of them: a warp that `gives` one, which its lanes have alike, for a
  /// place of its own. Returns the places, in shared memory; they are good until the exchange after the next. Requires:
  /// `values` is the same for all exchanges; a warp that gives one has read the places of the last exchange, and met
  /// the warps of its block that give none, since they have, at a barrier; the launch has added SpaceOf.
  template <typename T>
  __device__ __forceinline__ const T* AllToAll(const T& value, unsigned values, unsigned place, bool gives) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0 && sizeof(T) <= kMostBytes);
    extern __shared__ uint4 dynamic_space[];
#if __CUDA_ARCH__ >= 900
    if (exchanges_ == 0) {
      asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    }
    const unsigned turn = exchanges_ % 2;
    const SharedAddress barrier = Barrier(static_cast<int>(turn));
    if (threadIdx.x == 0) {
      ExpectBytes(barrier, values * static_cast<unsigned>(sizeof(T)));
    }
    unsigned behind = 0;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(behind));
    T* const of_all = reinterpret_cast<T*>(dynamic_space + behind / kMostBytes - (turn + 1) * PlacesOf(values));
    if (gives && threadIdx.x % 32 < blocks_) {
      Send(value, SharedAddressOf(of_all + place), barrier);
    }
    AwaitBytes(barrier, exchanges_ / 2 % 2);
    ++exchanges_;
    return of_all;
#else
    return reinterpret_cast<const T*>(dynamic_space);
#endif
  }

  /// Dynamic shared memory that a launch adds to what its kernel has else, for so many values of all blocks.
  static constexpr std::size_t SpaceOf(unsigned values) { return std::size_t{2} * kMostBytes * PlacesOf(values); }

 private:
  static constexpr unsigned kMostBytes = 16;  // of a value

  /// With the gaps of PlaceInList.
  static __host__ __device__ constexpr unsigned PlacesOf(unsigned values) { return values + values / 8; }

#if __CUDA_ARCH__ >= 900
  /// Two barriers in turn: one may still be watched by slow warps when the next exchange begins.
  static __device__ __forceinline__ SharedAddress Barrier(int turn) {
    __shared__ std::uint64_t barriers[2];
    return SharedAddressOf(&barriers[turn]);
  }

  /// Lane i sends to block i: to the same place in its shared memory, under the same barrier of its own.
  template <typename T>
  static __device__ __forceinline__ void Send(const T& value, SharedAddress place, SharedAddress barrier) {
    constexpr int kWords = static_cast<int>(sizeof(T) / 4);
    unsigned words[kWords];
    memcpy(words, &value, sizeof(T));
    unsigned there = 0;
    unsigned barrier_there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(threadIdx.x % 32));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier_there) : "r"(barrier), "r"(threadIdx.x % 32));
    if constexpr (kWords == 2) {
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(there),
          "r"(words[0]), "r"(words[1]), "r"(barrier_there)
          : "memory");
    } else if constexpr (kWords == 4) {
      asm volatile(
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
              there),
          "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(barrier_there)
          : "memory");
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(there + 4 * i),
            "r"(words[i]), "r"(barrier_there)
            : "memory");
      }
    }
  }
#endif

  unsigned blocks_ = 1;
  unsigned block_ = 0;
  unsigned exchanges_ = 0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_CLUSTER_EXCHANGE_CUH_
