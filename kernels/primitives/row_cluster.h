// How the blocks of a cluster share a row in whole vectors, and how many multiprocessors clusters of them keep busy.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_CLUSTER_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_CLUSTER_H_

#include <cstdint>

namespace kernelwire {

/// What a warp holds of a row whose threads have 8 vectors each, and how many of them have it.
inline constexpr std::int64_t kBytesOfWarp = 8 * 32 * 16;
constexpr std::int64_t WarpsOfRow(std::int64_t row_bytes) { return (row_bytes + kBytesOfWarp - 1) / kBytesOfWarp; }

/// Blocks of a cluster with so many warps each.
struct ClusterOfWarps {
  std::int64_t warps = 0;
  std::int64_t blocks = 0;
  std::int64_t filled = 0;  // warps of a group of multiprocessors that have a share of a row

  ClusterOfWarps() = default;
  ClusterOfWarps(std::int64_t row_warps, std::int64_t warps_of_block, std::int64_t warps_of_multiprocessor);
  /// Whether there are such clusters, of two blocks and more.
  bool Exist() const;
};

/// Which blocks there are: how many warps a multiprocessor has registers for at a time, the fewest and the most of a
/// block, and up to how many more are better where as many multiprocessors are busy.
struct BlocksOfWarps {
  std::int64_t of_multiprocessor;
  std::int64_t least;
  std::int64_t most;
  std::int64_t better = 0;
};

/// Of threads that have 8 vectors of a row and of the next one: the smallest that keep the most multiprocessors busy,
/// which leave more of these something to do, or the largest of up to 8 warps, which have more of memory on its way.
/// Those of a warp wait for each other more than they gain.
inline constexpr BlocksOfWarps kThatLookAhead{16, 2, 16};
inline constexpr BlocksOfWarps kLargeThatLookAhead{16, 2, 16, 8};
/// Of threads whose next row is on its way to shared memory (row_staged.cuh), with as many registers as those, or 96 a
/// thread, which warps have that are five of a quarter of a multiprocessor. Beside parameters small blocks would not be
/// as many at a time: each has what its cluster sends it.
inline constexpr BlocksOfWarps kFewStaged{16, 3, 8};
inline constexpr BlocksOfWarps kStaged{20, 4, 10};
inline constexpr BlocksOfWarps kStagedBesideParameters{20, 6, 10};

/// Blocks that share a row of so many warps such that most multiprocessors are busy; none, if they were too many.
ClusterOfWarps ShareWarps(std::int64_t row_warps, const BlocksOfWarps& which);

/// As many blocks as can be.
ClusterOfWarps ShareAmongMost(std::int64_t row_warps, const BlocksOfWarps& which);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_CLUSTER_H_
