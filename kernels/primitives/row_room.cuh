// How many clusters of a kernel a device has room for, remembered.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_ROOM_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_ROOM_CUH_

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/device/launch.cuh"

namespace kernelwire {

/// ResidentClusters of a kernel in blocks of whole warps, asked once as long as the shapes in use are few: GPUs of
/// unlike architecture in one process are refused, so the answer serves all.
template <auto kKernel>
std::int64_t RoomForClusters(const LaunchShape& shape) {
  constexpr std::size_t kShapes = 64;
  constexpr int kRoomBits = 24;
  static std::atomic<std::uint64_t> known[kShapes];  // a shape, and room for it
  const std::uint64_t of_blocks = std::uint64_t{shape.threads / 32} << 5 | shape.cluster_blocks;
  const std::uint64_t key =
      (std::uint64_t{shape.shared_bytes} << 12 | of_blocks << 1 | (shape.balances_clusters ? 1 : 0)) << kRoomBits;
  std::atomic<std::uint64_t>& last = known[(shape.shared_bytes / 256 + of_blocks) % kShapes];
  std::uint64_t entry = last.load(std::memory_order_relaxed);
  if (entry >> kRoomBits != key >> kRoomBits || entry == 0) {
    entry = key | static_cast<std::uint64_t>(ResidentClusters(kKernel, shape));
    last.store(entry, std::memory_order_relaxed);
  }
  return static_cast<std::int64_t>(entry & ((std::uint64_t{1} << kRoomBits) - 1));
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_ROOM_CUH_
