// Rows that the blocks of a cluster share, or a block has to itself, which stay until no row is left, and take the next
// one from the launch's tickets (compute capability 9.0 and above).
//
// Clusters that begin anew for each row wait for each other's blocks, and for their first instructions; with equal
// numbers of rows some would be done before others, since multiprocessors do not read at one speed. So each cluster
// begins with two rows that follow from its number, and its first block takes a ticket in each row for the row after
// the next. The answer is on its way until the row's sum is known. Then it is told to all blocks, by a word that
// travels with its own notice of arrival, and in the next row they know which one comes then.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TICKETS_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TICKETS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/async_copy.cuh"
#include "kernels/primitives/mbarrier.cuh"

namespace kernelwire {

/// A thread calls it that takes no more tickets of the launch's first two; the last of so many `takers` leaves those,
/// and the third, in which they are counted, at zero.
__device__ __forceinline__ void LeaveTickets(std::uint32_t* tickets, unsigned takers) {
  __threadfence();
  if (atomicAdd(tickets + 2, 1U) == takers - 1) {
    tickets[0] = tickets[1] = tickets[2] = 0;
  }
}

/// Of a cluster of `blocks` blocks, or of a block, all of whose threads construct one, before their BlockGroup `group`,
/// and call each function but Next together:
///
///   for (; rows.HaveOneBefore(count); rows.GoOn()) {
///     rows.Ask(group);
///     ...               // the cluster reduces at least once; any thread may ask for Next()
///     rows.Tell(group);
///   }
///   rows.End(group);
///
/// Threads that want to know the next row at once, and remember it until they go on, have a `code` for it: see
/// NextCode.
///
/// `kAlike`: 1; or 2, for clusters that have every second row, an even number of them.
template <unsigned kAlike>
class TicketRows {
 public:
  /// `tickets`: three of Launch::tickets, which are zero, and will be.
  __device__ __forceinline__ TicketRows(std::uint32_t* tickets, int blocks)
      : tickets_(tickets), blocks_(static_cast<unsigned>(blocks)), code_(kSlots * (Cluster() / kAlike) + kFirstSlot) {
    if (threadIdx.x == 0) {
      BeginBarrier(Barrier(0));
      BeginBarrier(Barrier(1));
      // The second row follows from the cluster's number, too. It is told as others are, so that none is another case.
      Ring()[Slot(1)] = kSlots * (Cluster() / kAlike + ClustersAlike()) + Slot(1);
      ExpectNothing(Barrier(Slot(1) % 2));
    }
    __syncthreads();
  }

  /// Which of every kAlike rows the cluster has.
  __device__ __forceinline__ unsigned Kind() const { return kAlike == 1 ? 0 : Cluster() % kAlike; }

  /// How many rows the cluster had before this one, modulo kSlots, which is even.
  __device__ __forceinline__ unsigned Turn() const {
    unsigned code = code_;
    asm volatile("" : "+r"(code));
    return (code - kFirstSlot) % kSlots;
  }

  /// Found anew each time, rather than remembered beside the code.
  __device__ __forceinline__ unsigned Row() const {
    unsigned code = code_;
    asm volatile("" : "+r"(code));
    return RowOf(code);
  }
  /// Whether this row is one of the first `count`. Lanes are told together, so that the compiler, which does not know
  /// that all have read the same word, has them come along with each other: for each shuffle it would ask else.
  __device__ __forceinline__ bool HaveOneBefore(std::int64_t count) const {
    return __any_sync(0xFFFFFFFFU, static_cast<int>(Row() < count)) != 0;
  }
  /// The row behind this one, which there may not be.
  __device__ __forceinline__ unsigned Next() const { return RowOf(NextCode()); }

  template <typename Group>
  __device__ __forceinline__ void Ask(const Group& group) {
    asked_ = 0;  // never remembered from row to row
    if (threadIdx.x == 0) {
      if (blocks_ > 1) {
        ExpectBytes(Barrier(Slot(2) % 2), sizeof(unsigned));
      }
      if (group.block() == 0) {
        // Never wraps. (Of an addition nvcc would wait for the answer at once, to share it among lanes.)
        asked_ = atomicInc(tickets_ + Kind(), ~1U);
      }
    }
  }
  /// Behind a reduction, since all blocks have asked then.
  template <typename Group>
  __device__ __forceinline__ void Tell(const Group& group) const {
#if __CUDA_ARCH__ >= 900
    if (blocks_ == 1) {  // to whom nothing can be sent
      TellBlock();
    } else if (group.block() == 0 && threadIdx.x < 32) {
      const unsigned asked = __shfl_sync(0xFFFFFFFFU, asked_, 0);
      if (threadIdx.x < blocks_) {
        const unsigned slot = Slot(2);
        SendTo(threadIdx.x, SharedAddressOf(Ring() + slot), Barrier(slot % 2), CodeOf(asked, slot));
      }
    }
#else
    static_cast<void>(group);
#endif
  }
  __device__ __forceinline__ void GoOn() {
    asm volatile("" : "+r"(code_));  // a slot's address is not remembered, either
    code_ = NextCode();
  }

  /// Stands for the row behind this one, with which GoOnTo goes on.
  __device__ __forceinline__ unsigned NextCode() const {
    AwaitBytes(Barrier(Slot(1) % 2), Slot(1) / 2);
    return Ring()[Slot(1)];
  }
  __device__ __forceinline__ unsigned RowOf(unsigned code) const { return code / kSlots * kAlike + Kind(); }
  __device__ __forceinline__ void GoOnTo(unsigned code) { code_ = code; }

  template <typename Group>
  __device__ __forceinline__ void End(const Group& group) const {
    NextCode();  // what is on its way to this block
    if (threadIdx.x == 0 && group.block() == 0) {
      LeaveTickets(tickets_, gridDim.x / blocks_);
    }
  }

 private:
  // A code has the number of a row among its like, for which 30 bits are left: rows that blocks share are so long that
  // memory has fewer. Beside it, the slot in which it was told: in four rows, none of which may still be read. There is
  // a barrier for even slots, and one for odd ones, whose last word has arrived before the next is expected. The words
  // of slots 0 and 1 are those of its first phase, and of each second one behind.
  static constexpr unsigned kSlots = 4;
  static constexpr unsigned kFirstSlot = kSlots - 1;

  static __device__ __forceinline__ unsigned* Ring() {
    __shared__ unsigned ring[kSlots];
    return ring;
  }
  static __device__ __forceinline__ SharedAddress Barrier(unsigned which) {
    __shared__ std::uint64_t barriers[2];
    return SharedAddressOf(barriers + which);
  }

  __device__ __forceinline__ void TellBlock() const {
    if (threadIdx.x == 0) {
      unsigned asked = asked_;
      asm volatile("" : "+r"(asked));  // not waited for before
      const unsigned slot = Slot(2);
      Ring()[slot] = CodeOf(asked, slot);
      ExpectNothing(Barrier(slot % 2));
    }
  }
  /// Of the row that a ticket stands for.
  __device__ __forceinline__ unsigned CodeOf(unsigned ticket, unsigned slot) const {
    return kSlots * (2 * ClustersAlike() + ticket) + slot;
  }
  __device__ __forceinline__ unsigned Cluster() const { return blockIdx.x / blocks_; }
  __device__ __forceinline__ unsigned ClustersAlike() const { return gridDim.x / blocks_ / kAlike; }
  /// Of the row so many behind this one.
  __device__ __forceinline__ unsigned Slot(unsigned behind) const { return (code_ + behind) % kSlots; }

  std::uint32_t* tickets_;
  unsigned blocks_;
  unsigned code_;
  unsigned asked_;
};

/// Of blocks that do not stay.
struct NoTickets {
  NoTickets() = default;
  __device__ __forceinline__ NoTickets(std::uint32_t* /*tickets*/, int /*blocks*/) {}
  template <typename Group>
  __device__ __forceinline__ void Tell(const Group& /*group*/) const {}
};

template <typename Shape>
using TicketsOf = std::conditional_t<Shape::kStays, TicketRows<1>, NoTickets>;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TICKETS_CUH_
