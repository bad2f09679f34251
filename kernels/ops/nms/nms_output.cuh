// The last part of nms on the device: from a flag by rank to the outputs, in order of rank.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_OUTPUT_CUH_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_OUTPUT_CUH_

#include <cstdint>

#include "kernels/ops/nms/nms_image.cuh"

namespace kernelwire::nms {

/// The sum of `value` over the block. Called by all threads.
__device__ inline int BlockSum(int value, int (&of_warps)[kWarps]) {
  for (int step = 16; step > 0; step /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, step);
  }
  if (threadIdx.x % 32 == 0) {
    of_warps[threadIdx.x / 32] = value;
  }
  __syncthreads();
  int sum = 0;
  for (const int part : of_warps) {
    sum += part;
  }
  __syncthreads();  // `of_warps` may be used again
  return sum;
}

/// Whether the box of this rank was kept. Flags behind the last candidate were never written.
__device__ inline bool WasKept(const Image& image, int rank) {
  return image.boxes > 0 && rank < *image.candidates && image.flags[rank] != 0;
}

__global__ void __launch_bounds__(kThreads) CountKeptKernel(const KernelArguments arguments) {
  const Image image = FindImage(arguments);
  for (int tile = blockIdx.x % arguments.blocks_per_image; tile < image.tiles(); tile += arguments.blocks_per_image) {
    const int kept = __syncthreads_count(WasKept(image, tile * kTile + static_cast<int>(threadIdx.x)));
    if (threadIdx.x == 0) {
      image.kept_of_tile[tile] = kept;
    }
  }
}

/// Writes the columns of kept boxes in order of rank, fills the others, and counts.
__global__ void __launch_bounds__(kThreads) WriteKeptKernel(const KernelArguments arguments) {
  __shared__ int of_warps[kWarps];
  const Image image = FindImage(arguments);
  const int thread = static_cast<int>(threadIdx.x);
  auto* const indices = static_cast<std::int64_t*>(image.segment->outputs[kIndices]);
  auto* const scores = static_cast<float*>(image.segment->outputs[kKeptScores]);
  auto* const counts = static_cast<std::int32_t*>(image.segment->outputs[kCount]);
  const std::int64_t first_column = image.index * image.columns;
  for (int tile = blockIdx.x % arguments.blocks_per_image; tile < max(image.tiles(), 1);
       tile += arguments.blocks_per_image) {
    int ahead = 0;
    int all = 0;
    for (int other = thread; other < image.tiles(); other += kThreads) {
      all += image.kept_of_tile[other];
      ahead += other < tile ? image.kept_of_tile[other] : 0;
    }
    ahead = BlockSum(ahead, of_warps);
    const int total = min(BlockSum(all, of_warps), image.columns);
    const int rank = tile * kTile + thread;
    const bool kept = WasKept(image, rank);
    const unsigned bits = __ballot_sync(kAllLanes, kept);
    if (thread % 32 == 0) {
      of_warps[thread / 32] = __popc(bits);
    }
    __syncthreads();
    int column = ahead + __popc(bits & ((1u << (thread % 32)) - 1));
    for (int warp = 0; warp < thread / 32; ++warp) {
      column += of_warps[warp];
    }
    __syncthreads();
    if (kept && column < total) {
      const std::int64_t box = image.order[rank];
      if (indices != nullptr) {
        indices[first_column + column] = box;
      }
      if (scores != nullptr) {
        scores[first_column + column] =
            LoadFloat(arguments.params.scores, image.segment->inputs[kScores], image.first_box + box);
      }
    }
    if (rank >= total && rank < image.columns) {  // ranks number the columns here
      if (indices != nullptr) {
        indices[first_column + rank] = kNoIndex;
      }
      if (scores != nullptr) {
        scores[first_column + rank] = kNoScore;
      }
    }
    if (rank == 0 && counts != nullptr) {
      counts[image.index] = total;
    }
  }
}

}  // namespace kernelwire::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_OUTPUT_CUH_
