// Which threads work on a row, chosen by the bytes of a row: a value that can be printed.
//
// It must not depend on anything else: with it the order of every sum is fixed, and so a row gives the same bits alone,
// in company, and on any lane. The figures were measured on an H200 (tests/bench/kernels): 64 bytes a thread are what
// keeps enough memory on its way, whatever the type.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kernelwire {

struct RowTuning {
  enum class Method : std::uint8_t {
    kLanes,   // some lanes of a warp hold a row; several rows a block
    kBlocks,  // a block, or a cluster of blocks, holds a row
    kStream,  // nobody holds it: blocks walk over it, twice
  };

  Method method = Method::kLanes;
  int threads = 0;         // of a row: lanes, or threads of each block
  int vectors = 0;         // of 16 bytes, that a thread holds at a time
  int cluster_blocks = 1;  // blocks that share a row
  /// Blocks stay, and ask for their next row before they work on this one.
  bool looks_ahead = false;

  std::string ToString() const {
    const std::string text = std::to_string(threads) + " threads x " + std::to_string(16 * vectors) + " bytes";
    switch (method) {
      case Method::kLanes:
        return text + ", several rows a block";
      case Method::kBlocks:
        return text + ", " + std::to_string(cluster_blocks) + " blocks a row";
      case Method::kStream:
        break;
    }
    return text + ", " + std::to_string(cluster_blocks) + " blocks a row, read twice";
  }
};

inline constexpr int kMostThreadsOfRowBlock = 512;

/// For rows that are walked over, with results of any type. Short rows have a small block each: most threads of a large
/// one would have nothing to do. `clusters`: whether blocks can share a row (compute capability 9.0 and above).
inline RowTuning StreamRows(std::int64_t row_bytes, bool clusters) {
  constexpr int kVectors = 4;
  const std::int64_t warps = (row_bytes + 16 * kVectors * 32 - 1) / (16 * kVectors * 32);
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(warps * 32, 32, kMostThreadsOfRowBlock));
  return {RowTuning::Method::kStream, threads, kVectors, clusters && row_bytes > std::int64_t{1} << 20 ? 16 : 1};
}

inline RowTuning TuneRows(std::int64_t row_bytes, bool clusters) {
  using Method = RowTuning::Method;
  if (row_bytes <= 128) {
    return {Method::kLanes, 4, 2, 1};
  }
  for (const int lanes : {4, 8, 16, 32}) {
    if (row_bytes <= lanes * 64) {
      return {Method::kLanes, lanes, 4, 1};
    }
  }
  for (const int vectors : {4, 8}) {
    for (const int blocks : {1, 2, 4, 8, 16}) {
      const std::int64_t warps = (row_bytes + 512 * blocks * vectors - 1) / (512 * blocks * vectors);
      const bool possible = (blocks == 1 || clusters) && (vectors == 4 || !clusters || blocks == 16);
      if (possible && warps * 32 <= kMostThreadsOfRowBlock) {
        return {Method::kBlocks, static_cast<int>(warps) * 32, vectors, blocks, vectors > 4};
      }
    }
  }
  return StreamRows(row_bytes, clusters);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNING_H_
