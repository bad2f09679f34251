// From a plan to the kernels of a reduction. Which kernel runs, and how parts are shared, may follow the number of
// results: neither changes the order in which a result's elements are combined.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_columns.cuh"
#include "kernels/primitives/reduce_merge.cuh"
#include "kernels/primitives/reduce_parts.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/reduce_store.cuh"

namespace kernelwire {

inline ReduceArguments ArgumentsOf(const Launch& launch) {
  const auto params = launch.plan->Params<ReduceParams>();
  ReduceArguments arguments{};
  arguments.table = TableOf(launch);
  arguments.layout = LayOutReduction(params);
  arguments.parts = PartsOf(arguments.layout, params.x_type);
  arguments.results = launch.total_rows * arguments.layout.results;
  const std::int64_t length = LengthOfVector(params.x_type);
  arguments.vectors = VectorsOfResult(arguments.layout, params.x_type);
  arguments.vectors_of_run = (arguments.layout.run + length - 1) / length;
  arguments.accumulator = params.accumulator;
  arguments.y_type = params.y_type;
  arguments.y_bytes = static_cast<std::int64_t>(SizeOf(params.y_type));
  arguments.checked = params.checked;
  arguments.tickets = launch.tickets;
  return arguments;
}

/// Whether every vector of every request starts at a multiple of its own size.
inline bool VectorsAreAligned(const Launch& launch, const ReduceArguments& arguments, std::int64_t length, int inputs) {
  bool aligned = arguments.layout.IsPlain() && arguments.layout.run % length == 0;
  for (int s = 0; s < launch.segment_count && aligned; ++s) {
    for (int i = 0; i < inputs; ++i) {
      aligned = aligned && reinterpret_cast<std::uintptr_t>(launch.segments[s].inputs[i]) % 16 == 0;
    }
  }
  return aligned;
}

/// How the parts of long rows are shared out on the current device, and among how many blocks a result.
struct PartBlocks {
  PartSharing sharing = PartSharing::kBlock;
  int blocks = 1;
};

inline cudaError_t ShareParts(const ReduceArguments& arguments, PartBlocks* shared) {
  constexpr std::int64_t kLargestPortableCluster = 8;
  constexpr std::int64_t kBlocksThatFillAMultiprocessor = 2;
  int device = 0;
  int multiprocessors = 0;
  int major = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  }
  const std::int64_t parts = arguments.parts.count;
  if (error == cudaSuccess && parts > 1 && arguments.results < kBlocksThatFillAMultiprocessor * multiprocessors) {
    const bool cluster = major >= 9 && parts <= kLargestPortableCluster;
    if (cluster || arguments.results <= kLaunchTickets) {
      shared->sharing = cluster ? PartSharing::kCluster : PartSharing::kGrid;
      shared->blocks = static_cast<int>(std::min<std::int64_t>(parts, 1 << 20));
    }
  }
  return error;
}

template <typename R, bool kPlain>
cudaError_t LaunchRows(const ReduceArguments& arguments, const R& reduction, cudaStream_t stream) {
  if (arguments.vectors <= kVectorsOfShortRow) {
    const int threads = ThreadsOfShortRow(arguments.vectors);
    const int block = BlockOfShortRows(arguments.results, threads);
    const std::int64_t rows_of_block = block / threads;
    const std::int64_t blocks = (arguments.results + rows_of_block - 1) / rows_of_block;
    return LaunchKernel(&ReduceShortRowsKernel<R, kPlain>, ShapeOfGrid(blocks, block), stream, arguments, reduction,
                        threads);
  }
  PartBlocks shared;
  const cudaError_t error = ShareParts(arguments, &shared);
  if (error != cudaSuccess) {
    return error;
  }
  LaunchShape shape = ShapeOfGrid(arguments.results * shared.blocks, kLongRowBlock);
  if (shared.sharing == PartSharing::kGrid) {
    return LaunchKernel(&ReduceSharedRowsKernel<R, kPlain>, shape, stream, arguments, reduction, shared.blocks);
  }
  shape.cluster_blocks = static_cast<unsigned>(shared.blocks);
  return LaunchKernel(&ReduceLongRowsKernel<R, kPlain>, shape, stream, arguments, reduction, shared.sharing,
                      shared.blocks);
}

template <typename R, int kLength, bool kPlain>
cudaError_t LaunchColumns(const ReduceArguments& arguments, const R& reduction, cudaStream_t stream) {
  const ColumnGrid grid = LayColumns<R, kLength>(arguments);
  const std::int64_t blocks = (grid.items + grid.items_of_block - 1) / grid.items_of_block;
  const cudaError_t error =
      LaunchKernel(&ReduceColumnsKernel<R, kLength, kPlain>, ShapeOfGrid(blocks, kColumnBlock<R, kLength>), stream,
                   arguments, reduction, grid);
  return error == cudaSuccess && arguments.parts.count > 1 ? MergeParts(arguments, reduction, stream) : error;
}

template <typename R, int kLength, bool kPlain>
cudaError_t LaunchLayout(const ReduceArguments& arguments, const R& reduction, cudaStream_t stream) {
  if constexpr (R::kColumns) {
    if (arguments.layout.columns) {
      return LaunchColumns<R, kLength, kPlain>(arguments, reduction, stream);
    }
  }
  return LaunchRows<R, kPlain>(arguments, reduction, stream);
}

/// Whether vectors would leave most multiprocessors without a column. Where a lane goes on reading, narrow reads cost
/// more than that, unless what is done with an element costs yet more. How many columns a thread has changes no bit.
template <typename R, int kLength>
bool AreFewColumns(const ReduceArguments& arguments) {
  constexpr std::int64_t kFewThreads = 65536;
  constexpr std::int64_t kFewThreadsThatGoOn = kHasReference<R> || sizeof(typename R::Element) == 1 ? 8192 : 0;
  if (!arguments.layout.columns) {
    return false;
  }
  const std::int64_t lanes = LayColumns<R, kLength>(arguments).lanes;
  const bool goes_on = arguments.layout.width > lanes * kVectorsInFlight;
  return arguments.results / kLength * arguments.parts.count * lanes < (goes_on ? kFewThreadsThatGoOn : kFewThreads);
}

/// Enqueues `reduction` over the launch. R::kVectors says whether whole vectors have kernels of their own; without them
/// every shape takes the kernels that take any. R::kColumns: whether any plan of the operator has columns.
template <typename R>
cudaError_t LaunchReduction(const Launch& launch, const R& reduction, cudaStream_t stream) {
  constexpr int kLength = kWidestVector<typename R::Element>;
  const ReduceArguments arguments = ArgumentsOf(launch);
  if (arguments.results == 0) {
    return cudaSuccess;
  }
  if constexpr (R::kVectors) {
    if (VectorsAreAligned(launch, arguments, kLength, R::kInputs) && !AreFewColumns<R, kLength>(arguments)) {
      return LaunchLayout<R, kLength, true>(arguments, reduction, stream);
    }
  }
  return LaunchLayout<R, 1, false>(arguments, reduction, stream);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LAUNCH_CUH_
