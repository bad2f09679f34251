// The scratch on the device of one image whose boxes are ranked and suppressed (box_rank.cuh, box_suppress.cuh): sizes
// for the plan, places for the kernels. Linear in the number of slots, one for each box that may become a candidate.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_WORKSPACE_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_WORKSPACE_H_

#include <cstdint>

#include "kernels/primitives/segment_lookup.h"

namespace kernelwire::box {

inline constexpr int kSortTile = 1024;  // keys that one block sorts; and the most that one block does alone
inline constexpr int kTile = 256;       // boxes that one block resolves at a time
inline constexpr int kWords = kTile / 32;
inline constexpr int kFanIn = 128;  // sorted runs that one pass merges

/// Counters of an image. Cleared, or written before they are read, by the launch itself.
struct Header {
  std::uint32_t found;       // slots in use, before top_k
  std::uint32_t candidates;  // the best top_k of them
  std::uint32_t ticket;      // the next tile that no block has taken
};

/// Where the arrays of an image lie. All begin at multiples of 16 bytes, and the whole is a multiple of 256.
struct Workspace {
  static constexpr std::int64_t kHeaderBytes = 256;
  static constexpr std::int64_t kStateBytes = kWords * sizeof(std::uint64_t);
  static constexpr std::int64_t kKeyBuffers = 3;  // the ranking, and two to sort from one into the other

  std::uint8_t* base;
  std::int64_t padded;     // slots, up to whole sort tiles
  std::int64_t box_bytes;  // of a box as suppression reads it

  KERNELWIRE_HOST_DEVICE static std::int64_t Padded(std::int64_t slots) {
    return (slots + kSortTile - 1) / kSortTile * kSortTile;
  }
  /// Bytes for an image of so many slots; the operator may put more behind them. What one block does alone needs the
  /// header and one buffer of keys.
  KERNELWIRE_HOST_DEVICE static std::int64_t Bytes(std::int64_t slots, std::int64_t box_bytes) {
    const std::int64_t padded = Padded(slots);
    return slots <= kSortTile ? kHeaderBytes + padded * static_cast<std::int64_t>(sizeof(std::uint64_t))
                              : Workspace{nullptr, padded, box_bytes}.End();
  }

  KERNELWIRE_HOST_DEVICE std::int64_t runs() const { return padded / kSortTile; }
  KERNELWIRE_HOST_DEVICE Header* header() const { return reinterpret_cast<Header*>(base); }
  KERNELWIRE_HOST_DEVICE std::uint64_t* keys(int buffer) const {
    return reinterpret_cast<std::uint64_t*>(base + kHeaderBytes) + buffer * padded;
  }
  /// Boxes in the order of suppression.
  template <typename Box>
  KERNELWIRE_HOST_DEVICE Box* boxes() const {
    return reinterpret_cast<Box*>(base + BoxesAt());
  }
  /// What each tile has decided: kWords words each, see TileState.
  KERNELWIRE_HOST_DEVICE std::uint64_t* states() const {
    return reinterpret_cast<std::uint64_t*>(base + BoxesAt() + padded * box_bytes);
  }
  /// By rank, 1 for kept boxes.
  KERNELWIRE_HOST_DEVICE std::uint8_t* flags() const { return base + FlagsAt(); }
  /// Keys in each run of a pass (two of these, for reading and writing), and kept boxes of each kSortTile ranks.
  KERNELWIRE_HOST_DEVICE std::int32_t* run_counts(int buffer) const {
    return reinterpret_cast<std::int32_t*>(base + FlagsAt() + padded) + buffer * runs();
  }
  KERNELWIRE_HOST_DEVICE std::int32_t* kept_of_ranks() const { return run_counts(2); }

  KERNELWIRE_HOST_DEVICE std::int64_t End() const {
    return (FlagsAt() + padded + 3 * runs() * static_cast<std::int64_t>(sizeof(std::int32_t)) + 255) / 256 * 256;
  }

 private:
  KERNELWIRE_HOST_DEVICE std::int64_t BoxesAt() const {
    return kHeaderBytes + kKeyBuffers * padded * static_cast<std::int64_t>(sizeof(std::uint64_t));
  }
  KERNELWIRE_HOST_DEVICE std::int64_t FlagsAt() const {
    return BoxesAt() + padded * box_bytes + padded / kTile * kStateBytes;
  }
};

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_WORKSPACE_H_
