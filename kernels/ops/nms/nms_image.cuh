// What every kernel of nms needs: the argument of a launch, one image's place in it, and the reading of its inputs.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_IMAGE_CUH_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_IMAGE_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/core/segment.h"
#include "kernels/ops/nms/nms.h"

namespace kernelwire::nms {

inline constexpr int kThreads = 256;  // of every block
inline constexpr int kWarps = kThreads / 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kTile = WorkspaceLayout::kTile;
inline constexpr int kKeysPerThread = 8;
inline constexpr int kSortTile = kThreads * kKeysPerThread;
inline constexpr std::uint64_t kNoKey = ~std::uint64_t{0};  // of a box that takes no part: sorts behind all others
static_assert(kTile == kThreads && kSortTile % kTile == 0);

/// The argument of every kernel. The blocks [i * blocks_per_image, ...) share image i of the launch.
struct KernelArguments {
  const Segment* segments;
  int segment_count;
  int blocks_per_image;
  Params params;
};

/// One image: its numbers, the request it belongs to, and its part of the workspace (see WorkspaceLayout).
struct Image {
  int boxes;
  int columns;
  std::int64_t first_box;
  std::int64_t index;
  const Segment* segment;

  unsigned* ticket;  // the next tile of Suppress that nobody has taken
  int* candidates;   // boxes that take part
  std::uint64_t* first_buffer;
  float4* kept;  // in place of first_buffer, once that is no longer needed
  std::uint64_t* second_buffer;
  std::uint32_t* order;
  std::uint8_t* flags;
  std::uint64_t* states;
  int* kept_of_tile;

  __device__ int tiles() const { return (boxes + kTile - 1) / kTile; }
  __device__ std::uint64_t* buffer(int i) const { return i == 0 ? first_buffer : second_buffer; }
  __device__ int sort_tiles() const { return (boxes + kSortTile - 1) / kSortTile; }
};

__device__ inline Image FindImage(const KernelArguments& arguments) {
  const std::int64_t row = blockIdx.x / arguments.blocks_per_image;
  int low = 0;  // the last segment that begins at or before `row`
  for (int high = arguments.segment_count; high - low > 1;) {
    const int middle = (low + high) / 2;
    (arguments.segments[middle].first_row <= row ? low : high) = middle;
  }
  const Segment& segment = arguments.segments[low];
  Image image;
  image.segment = &segment;
  image.index = row - segment.first_row;
  image.boxes = static_cast<int>(segment.extents[kBoxesPerImage]);
  image.columns = static_cast<int>(segment.extents[kColumns]);
  image.first_box = image.index * image.boxes;
  auto* const header = static_cast<unsigned char*>(segment.workspace) + image.index * segment.extents[kWorkspaceBytes];
  image.ticket = reinterpret_cast<unsigned*>(header);
  image.candidates = reinterpret_cast<int*>(header + sizeof(unsigned));
  const std::int64_t padded = std::int64_t{image.tiles()} * kTile;
  unsigned char* const arrays = header + WorkspaceLayout::kHeaderBytes;
  image.first_buffer = reinterpret_cast<std::uint64_t*>(arrays);
  image.kept = reinterpret_cast<float4*>(arrays);
  image.second_buffer = reinterpret_cast<std::uint64_t*>(arrays + padded * WorkspaceLayout::kKeptBytes);
  image.order = reinterpret_cast<std::uint32_t*>(image.second_buffer + padded);
  image.flags = reinterpret_cast<std::uint8_t*>(image.order + padded);
  image.states = reinterpret_cast<std::uint64_t*>(image.flags + padded);
  image.kept_of_tile = reinterpret_cast<int*>(image.states + image.tiles());
  return image;
}

/// Merge launches that sort runs of kSortTile into one of `boxes`. Also called by the host.
__host__ __device__ inline int MergePasses(std::int64_t boxes) {
  int passes = 0;
  for (std::int64_t run = kSortTile; run < boxes; run *= 2) {
    ++passes;
  }
  return passes;
}

__device__ inline float LoadFloat(DataType dtype, const void* data, std::int64_t i) {
  switch (dtype) {
    case DataType::kFp16:
      return __half2float(static_cast<const __half*>(data)[i]);
    case DataType::kBf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

__device__ inline std::uint32_t LoadClass(DataType dtype, const void* data, std::int64_t i) {
  return dtype == DataType::kInt64 ? static_cast<std::uint32_t>(static_cast<const std::int64_t*>(data)[i])
                                   : static_cast<const std::uint32_t*>(data)[i];
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_IMAGE_CUH_
