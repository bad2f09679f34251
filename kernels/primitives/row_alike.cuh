// Rows that all begin at a word, or all in the middle of one: every second one of those that follow each other in
// memory. Which of them a block has that keeps something for all of its rows (row_kept.cuh).
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_ALIKE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_ALIKE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/row_tickets.cuh"

namespace kernelwire {

/// Of lanes: `turns` rows of each group of a block, whose rows are neighbours. Blocks come in twos, whose rows lie
/// between each other's.
template <int kLanes>
struct AlikeRowsOfLanes {
  unsigned first;
  unsigned step;
  unsigned end;

  __device__ __forceinline__ explicit AlikeRowsOfLanes(int turns) {
    const unsigned groups = blockDim.x / kLanes;
    step = 2 * groups;
    const unsigned of_both = step * static_cast<unsigned>(turns);
    const unsigned first_of_both = blockIdx.x / 2 * of_both;
    first = first_of_both + 2 * (threadIdx.x / kLanes % groups) + blockIdx.x % 2;
    end = first_of_both + of_both;
  }
};

/// Of a block, which stays until no row is left, and takes `turns` of them at a time from the launch's tickets: with
/// equal numbers of rows some blocks of an H200 were done an eighth of the time before others, since its
/// multiprocessors do not read at one speed. So the rows that are worked on at a time are neighbours, too, as memory
/// likes it.
///
///   for (AlikeRowsOfBlock alike(...); alike.Row() < rows; alike.GoOn()) {
///     const unsigned asked = alike.Ask();
///     ...                        // asks for the row
///     alike.Tell(asked, fetch);  // the first thread calls fetch(row) for the next one, which may lie behind the last
///     ...                        // threads meet at a barrier
///   }
///   alike.End();
///
/// All threads of the block call each function.
class AlikeRowsOfBlock {
 public:
  /// `tickets`: three of Launch::tickets, which are zero, and will be. `turns`: a power of two. Requires: an even
  /// number of blocks.
  __device__ __forceinline__ AlikeRowsOfBlock(std::uint32_t* tickets, int turns)
      : tickets_(tickets), turns_(static_cast<unsigned>(turns)), code_(kSlots * turns_ * (blockIdx.x / 2)) {}

  /// Found anew each time, rather than remembered beside the code.
  __device__ __forceinline__ unsigned Row() const {
    unsigned code = code_;
    asm volatile("" : "+r"(code));
    return RowOf(code);
  }

  /// Asks for the next ticket, if this is the first row of one. Nobody waits for the answer before Tell.
  __device__ __forceinline__ unsigned Ask() const {
    // Never wraps. (Of an addition nvcc would wait for the answer at once, to share it among lanes.)
    return threadIdx.x == 0 && IsFirst() ? atomicInc(tickets_ + Parity(), ~1U) : 0;
  }
  template <typename Fetch>
  __device__ __forceinline__ void Tell(unsigned asked, const Fetch& fetch) const {
    if (threadIdx.x == 0) {
      if (IsFirst()) {
        asm volatile("" : "+r"(asked));
        Ring()[NextSlot()] = kSlots * turns_ * (gridDim.x / 2 + asked) + NextSlot();
      }
      fetch(RowOf(CodeAfter()));
    }
  }
  __device__ __forceinline__ void GoOn() {
    asm volatile("" : "+r"(code_));  // a slot's address is not remembered, either
    code_ = CodeAfter();
  }

  __device__ __forceinline__ void End() const {
    if (threadIdx.x == 0) {
      LeaveTickets(tickets_, gridDim.x);
    }
  }

 private:
  // What the first thread tells others is the next ticket's first row, in a slot that none of them may still read. A
  // code has the slot beside the row's number among its like, for which 30 bits are left: rows are longer than those
  // that lanes hold, and memory has fewer.
  static constexpr unsigned kSlots = 4;

  static __device__ __forceinline__ unsigned* Ring() {
    __shared__ unsigned ring[kSlots];
    return ring;
  }
  static __device__ __forceinline__ unsigned Parity() { return blockIdx.x % 2; }
  static __device__ __forceinline__ unsigned RowOf(unsigned code) { return code / kSlots * 2 + Parity(); }

  __device__ __forceinline__ bool IsFirst() const { return (code_ / kSlots & (turns_ - 1)) == 0; }
  __device__ __forceinline__ bool IsLast() const { return (code_ / kSlots & (turns_ - 1)) == turns_ - 1; }
  __device__ __forceinline__ unsigned NextSlot() const { return (code_ + 1) % kSlots; }
  __device__ __forceinline__ unsigned CodeAfter() const { return IsLast() ? Ring()[NextSlot()] : code_ + kSlots; }

  std::uint32_t* tickets_;
  unsigned turns_;
  unsigned code_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_ALIKE_CUH_
