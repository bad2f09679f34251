// The scratch on the device of one image whose boxes are ranked and suppressed (box_rank.cuh, box_rounds.cuh,
// box_suppress.cuh): sizes for the plan, places for the kernels. Linear in the number of slots, one for each box that
// may become a candidate.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_BOX_WORKSPACE_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_BOX_WORKSPACE_H_

#include <cstdint>

#include "kernels/primitives/segment_lookup.h"

namespace kernelwire::box {

inline constexpr int kSortTile = 1024;  // keys that one block sorts
inline constexpr int kWindow = 1024;    // boxes that one round decides
inline constexpr int kWindowWords = kWindow / 32;
inline constexpr int kTile = 256;  // boxes that one block of a chain resolves at a time
inline constexpr int kWords = kTile / 32;
inline constexpr int kFanIn = 16;  // sorted runs that one pass merges

/// Counters of an image. Cleared, or written before they are read, by the launch itself.
struct Header {
  std::uint32_t found;       // slots in use, before top_k
  std::uint32_t candidates;  // the best top_k of them
  std::uint32_t ticket;      // the next piece of work that no block has taken: a tile, or a piece of a round
  // Of rounds alone (box_rounds.cuh).
  std::uint32_t searched;  // pieces of the search for overlaps that are done, of all rounds
  std::uint32_t filtered;  // pieces of filtering that are done, of all rounds
  std::uint32_t decided;   // rounds that are decided; kFinished in it: there will be no other
  std::int32_t kept;       // by all rounds so far
  std::int32_t fresh;      // by the last
  std::int32_t last;       // the last position that is decided
};
inline constexpr std::uint32_t kFinished = 0x80000000u;

/// Where the arrays of an image lie. All begin at multiples of 16 bytes but for the last few of small numbers, and the
/// whole is a multiple of 256. Rounds and chains never work on the same image, so what is only of one lies where
/// something of the other does.
struct Workspace {
  static constexpr std::int64_t kHeaderBytes = 256;
  static constexpr std::int64_t kStateBytes = kWords * sizeof(std::uint64_t);
  static constexpr std::int64_t kKeyBuffers = 3;  // the ranking, and two to sort from one into the other
  static constexpr std::int64_t kNumber = sizeof(std::uint32_t);

  std::uint8_t* base;
  std::int64_t padded;     // slots, up to whole words or, if they are many, to whole sort tiles
  std::int64_t box_bytes;  // of a box as suppression reads it

  KERNELWIRE_HOST_DEVICE static std::int64_t Padded(std::int64_t slots) {
    const std::int64_t whole = slots <= kSortTile ? 32 : kSortTile;
    return (slots + whole - 1) / whole * whole;
  }
  /// Bytes for an image of so many slots; the operator may put more behind them.
  KERNELWIRE_HOST_DEVICE static std::int64_t Bytes(std::int64_t slots, std::int64_t box_bytes) {
    return Workspace{nullptr, Padded(slots), box_bytes}.End();
  }

  KERNELWIRE_HOST_DEVICE std::int64_t runs() const { return (padded + kSortTile - 1) / kSortTile; }
  KERNELWIRE_HOST_DEVICE Header* header() const { return reinterpret_cast<Header*>(base); }
  KERNELWIRE_HOST_DEVICE std::uint64_t* keys(int buffer) const {
    return reinterpret_cast<std::uint64_t*>(base + kHeaderBytes) + buffer * padded;
  }
  /// Boxes in the order of suppression.
  template <typename Box>
  KERNELWIRE_HOST_DEVICE Box* boxes() const {
    return reinterpret_cast<Box*>(base + BoxesAt());
  }

  // ---- of chains

  /// What each tile has decided: kWords words each, see TileState.
  KERNELWIRE_HOST_DEVICE std::uint64_t* states() const { return reinterpret_cast<std::uint64_t*>(base + StatesAt()); }
  KERNELWIRE_HOST_DEVICE std::int64_t state_words() const { return (padded + kTile - 1) / kTile * kWords; }
  /// By rank, 1 for kept boxes.
  KERNELWIRE_HOST_DEVICE std::uint8_t* flags() const { return base + FlagsAt(); }
  /// Keys in each run of a pass (two of these, for reading and writing), and kept boxes of each kSortTile ranks.
  KERNELWIRE_HOST_DEVICE std::int32_t* run_counts(int buffer) const {
    return reinterpret_cast<std::int32_t*>(base + CountsAt()) + buffer * runs();
  }
  KERNELWIRE_HOST_DEVICE std::int32_t* kept_of_ranks() const { return run_counts(2); }

  // ---- of rounds

  /// By rank, where there are groups.
  KERNELWIRE_HOST_DEVICE std::int32_t* groups() const { return reinterpret_cast<std::int32_t*>(keys(2)); }
  /// A bit a rank: neither kept nor suppressed so far.
  KERNELWIRE_HOST_DEVICE std::uint32_t* undecided() const { return reinterpret_cast<std::uint32_t*>(flags()); }
  /// Of the boxes of a round, which overlap which ahead of them: see OverlapWord.
  KERNELWIRE_HOST_DEVICE std::uint32_t* overlaps() const {
    return reinterpret_cast<std::uint32_t*>(base + OverlapsAt());
  }
  /// What the last round kept, in order, and of which group.
  template <typename Box>
  KERNELWIRE_HOST_DEVICE Box* fresh_boxes() const {
    return reinterpret_cast<Box*>(base + BoxesAt() + padded * box_bytes);
  }
  KERNELWIRE_HOST_DEVICE std::int32_t* fresh_groups() const { return groups() + padded; }

  KERNELWIRE_HOST_DEVICE std::int64_t End() const { return (FlagsAt() + padded + 255) / 256 * 256; }

 private:
  KERNELWIRE_HOST_DEVICE std::int64_t window() const { return padded < kWindow ? padded : kWindow; }
  KERNELWIRE_HOST_DEVICE std::int64_t BoxesAt() const {
    return kHeaderBytes + kKeyBuffers * padded * static_cast<std::int64_t>(sizeof(std::uint64_t));
  }
  KERNELWIRE_HOST_DEVICE std::int64_t OverlapsAt() const { return BoxesAt() + (padded + window()) * box_bytes; }
  KERNELWIRE_HOST_DEVICE std::int64_t StatesAt() const {
    const std::int64_t words = window() / 32;
    return OverlapsAt() + words * (words + 1) / 2 * 32 * kNumber;
  }
  KERNELWIRE_HOST_DEVICE std::int64_t CountsAt() const {
    return StatesAt() + state_words() * static_cast<std::int64_t>(sizeof(std::uint64_t));
  }
  KERNELWIRE_HOST_DEVICE std::int64_t FlagsAt() const { return CountsAt() + 3 * runs() * kNumber; }
};

}  // namespace kernelwire::box

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_BOX_WORKSPACE_H_
