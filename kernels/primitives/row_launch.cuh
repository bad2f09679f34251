// From a row's width to the kernel that fits it, and the launch of that: what the row-wise operators launch alike.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_parts.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_tile.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// How a kernel's blocks and groups are laid over the rows of a launch.
template <typename Group>
struct RowGrid;

template <int kLanes>
struct RowGrid<LaneGroup<kLanes>> {
  static __device__ __forceinline__ LaneGroup<kLanes> GroupOf(int /*cluster_blocks*/) { return {}; }
  /// Before row `index` of `rows` is worked on.
  static __device__ __forceinline__ void Begin(LaneGroup<kLanes>& group, std::int64_t index, std::int64_t rows) {
    const int after = 32 / kLanes - 1 - static_cast<int>(threadIdx.x % 32) / kLanes;  // other rows of the warp
    group.Begin(index + after < rows);
  }
  static __device__ __forceinline__ std::int64_t FirstRow(int /*cluster_blocks*/) {
    return std::int64_t{blockIdx.x} * RowsOfBlock() + threadIdx.x / kLanes;
  }
  static __device__ __forceinline__ std::int64_t RowsOfGrid(int /*cluster_blocks*/) {
    return std::int64_t{gridDim.x} * RowsOfBlock();
  }

 private:
  static __device__ __forceinline__ unsigned RowsOfBlock() { return blockDim.x / kLanes; }
};

template <>
struct RowGrid<BlockGroup> {
  static constexpr int kBlockThreads = BlockGroup::kMostThreads;

  static __device__ __forceinline__ BlockGroup GroupOf(int cluster_blocks) { return BlockGroup(cluster_blocks); }
  static __device__ __forceinline__ void Begin(BlockGroup& /*group*/, std::int64_t /*index*/, std::int64_t /*rows*/) {}
  static __device__ __forceinline__ std::int64_t FirstRow(int cluster_blocks) {
    return Clusters(blockIdx.x, cluster_blocks);
  }
  static __device__ __forceinline__ std::int64_t RowsOfGrid(int cluster_blocks) {
    return Clusters(gridDim.x, cluster_blocks);
  }

 private:
  /// Most rows have a block each, and a division takes as long as the rest of the way to their first read.
  static __device__ __forceinline__ unsigned Clusters(unsigned blocks, int cluster_blocks) {
    return cluster_blocks == 1 ? blocks : blocks / static_cast<unsigned>(cluster_blocks);
  }
};

/// Calls body(row, loads, again) for each row of the group's, where row = row_at(index), `loads` has what it reads of
/// it, and again() finds the row once more, for kernels that would not have the registers to remember it. A group that
/// looks ahead asks for the next row before it works on this one, so that memory does not rest while threads agree on a
/// sum.
template <bool kLooksAhead, typename Group, typename RowAt, typename Space, typename Loads, typename Body>
__device__ __forceinline__ void ForEachRow(Group& group, int cluster_blocks, std::int64_t rows, const RowAt& row_at,
                                           const Space& /*space*/, Loads next, const Body& body) {
  using Grid = RowGrid<Group>;
  const std::int64_t step = Grid::RowsOfGrid(cluster_blocks);
  std::int64_t index = Grid::FirstRow(cluster_blocks);
  if (kLooksAhead && index < rows) {
    next.Begin(group, row_at(index));
  }
  while (index < rows) {
    Grid::Begin(group, index, rows);
    const auto row = row_at(index);  // found again, where rows are looked ahead to, rather than kept in registers
    if (!kLooksAhead) {
      next.Begin(group, row);
    }
    Loads loads = next;
    loads.Finish(group, row);
    index += step;
    asm volatile("" : "+l"(index));
    if (kLooksAhead && index < rows) {
      next.Begin(group, row_at(index));
    }
    body(row, loads, [&] {
      std::int64_t same = index - step;
      asm volatile("" : "+l"(same));
      return row_at(same);
    });
  }
}

/// ResidentClusters of a kernel, asked once for each number of threads and of blocks: GPUs of unlike architecture in
/// one process are refused, so the answer serves all.
template <auto kKernel>
std::int64_t RoomForClusters(const LaunchShape& shape) {
  static std::atomic<std::int64_t> known[kMostThreadsOfRowBlock / 32 + 1][kMaxClusterBlocks + 1];
  std::atomic<std::int64_t>& room = known[shape.threads / 32][shape.cluster_blocks];
  if (room.load(std::memory_order_relaxed) == 0) {
    room.store(ResidentClusters(kKernel, shape), std::memory_order_relaxed);
  }
  return room.load(std::memory_order_relaxed);
}

/// Launches a kernel over `rows`, with the shared memory of a RowSpace, that goes on with row + RowsOfGrid() until none
/// is left. Lanes get blocks for all of their rows; blocks that look ahead stay, as many as there is room for.
template <typename Group, typename Space, auto kKernel, typename Arguments>
cudaError_t LaunchRows(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 2147483647;
  const RowTuning& tuning = arguments.tuning;
  LaunchShape shape;
  shape.cluster_blocks = static_cast<unsigned>(tuning.cluster_blocks);
  if (std::is_same_v<Group, BlockGroup>) {
    shape.threads = static_cast<unsigned>(tuning.threads);
    shape.shared_bytes = Space::BytesOfBlock(shape.threads);
    shape.blocks = std::min(rows, kMostBlocks / tuning.cluster_blocks) * tuning.cluster_blocks;
    if (tuning.looks_ahead) {
      shape.blocks = std::min(shape.blocks, RoomForClusters<kKernel>(shape) * tuning.cluster_blocks);
    }
  } else {
    const std::int64_t of_block = std::int64_t{tuning.rows_of_block} * (Space::kOnce ? 1 : tuning.turns);
    shape.blocks = std::min((rows + of_block - 1) / of_block, kMostBlocks);
    shape.threads = static_cast<unsigned>(tuning.threads * tuning.rows_of_block);
    shape.shared_bytes = Space::BytesOfBlock(shape.threads);
  }
  return LaunchKernel(kKernel, shape, stream, arguments);
}

/// The reads of operators with one row for each of their results; for ForEachRow. `Row` has a RowSource `x`.
template <typename Held, typename Fill>
struct RowLoads {
  Granule* place;
  Held x;

  __device__ __forceinline__ explicit RowLoads(Granule* in) : place(in) {}
  template <typename Group, typename Row>
  __device__ __forceinline__ void Begin(const Group& group, const Row& row) {
    x.template Begin<Fill>(group, row.x, place);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Finish(const Group& group, const Row& row) {
    x.template Finish<Fill>(group, row.x, place);
  }
};

/// How many threads a multiprocessor has at a time, where lanes have rows.
inline constexpr int kUsualThreadsOfLanes = 896;

/// The most blocks of `threads` threads that __launch_bounds__ may ask for, by what a multiprocessor of the
/// architecture runs at a time (CUDA C++ Programming Guide, technical specifications per compute capability).
constexpr int MostResidentBlocks(int threads) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  constexpr int kThreads = 1024;
  constexpr int kBlocks = 16;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900
  constexpr int kThreads = 1536;
  constexpr int kBlocks = 16;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1100
  constexpr int kThreads = 1536;
  constexpr int kBlocks = 24;
#else
  constexpr int kThreads = 2048;
  constexpr int kBlocks = 32;
#endif
  return kThreads / threads < kBlocks ? kThreads / threads : kBlocks;
}

/// A group of threads, what each of them holds, whether it looks ahead, and whether it is for launches that read much,
/// as types.
template <typename GroupType, int kVectorsOfThread, bool kAhead, bool kMuch = false>
struct RowShape {
  using Group = GroupType;
  static constexpr int kVectors = kVectorsOfThread;
  static constexpr bool kOfBlocks = std::is_same_v<GroupType, BlockGroup>;
  static constexpr bool kLooksAhead = kAhead;
  static constexpr bool kReadsMuch = kMuch;
  // TuneRows asks for these for no others.
  static constexpr bool kOfPlainRows = kMuch && kVectors == 4;
  static constexpr bool kOfOddRows = !kOfBlocks && kVectors > 4;

  /// Whether TuneRows asks for it for rows of elements of so many bytes (kLongestOddRows).
  static constexpr bool IsFor(int element_bytes) {
    return !kOfOddRows || element_bytes == 2 || (element_bytes == 4 && kVectors < 8);
  }

  static constexpr int kVectorsTogether = kOfOddRows || kVectors < 4 ? kVectors : 4;  // see RowVectors

  // For __launch_bounds__: as many registers as let enough of the largest blocks run at a time. Rows that begin
  // anywhere want more, so their blocks are smaller (TuneRows).
  static constexpr int BlockThreads(RowAccess access) {
    return !kOfBlocks                                           ? BlockThreadsOfLanes(kVectors)
           : !kAhead && (kVectors > 4 || BeginAnywhere(access)) ? 256
                                                                : RowGrid<BlockGroup>::kBlockThreads;
  }
  /// `threads_of_lanes`: of a multiprocessor, where lanes have rows that do not begin anywhere.
  static constexpr int ResidentBlocks(RowAccess access, int threads_of_lanes = kUsualThreadsOfLanes) {
    const bool shifted = BeginAnywhere(access);
    const int wanted = kOfOddRows                  ? (kVectors > 6 ? 512 : 640) / BlockThreads(access)
                       : !kOfBlocks                ? (shifted ? 768 : threads_of_lanes) / BlockThreads(access)
                       : kAhead                    ? 1
                       : kVectors == 4 && !shifted ? 2
                                                   : 3;
    const int most = MostResidentBlocks(BlockThreads(access));
    return wanted < most ? wanted : most;
  }
};

/// Calls f with the shape of rows that kLanes lanes share.
template <int kLanes, typename F>
cudaError_t WithLaneShape(int vectors, F&& f) {
  using Group = LaneGroup<kLanes>;
  switch (vectors) {
    case 3:
      return f(RowShape<Group, 3, false>{});
    case 4:
      return f(RowShape<Group, 4, false>{});
    case 5:
      return f(RowShape<Group, 5, false>{});
    default:
      return f(RowShape<Group, 6, false>{});
  }
}

/// Calls f(RowShape<...>{}) for the shape that `tuning` asks for. Requires: a tuning of TuneRows that holds rows.
template <typename F>
cudaError_t WithRowShape(const RowTuning& tuning, F&& f) {
  if (tuning.method == RowTuning::Method::kBlocks) {
    if (tuning.vectors == 4) {
      return tuning.reads_much ? f(RowShape<BlockGroup, 4, false, true>{}) : f(RowShape<BlockGroup, 4, false>{});
    }
    // Hardly ever for little.
    return tuning.roomy ? f(RowShape<BlockGroup, 8, true, true>{}) : f(RowShape<BlockGroup, 8, false, true>{});
  }
  switch (tuning.threads) {
    case 4:
      return tuning.vectors == 2 ? f(RowShape<LaneGroup<4>, 2, false>{}) : WithLaneShape<4>(tuning.vectors, f);
    case 8:
      return WithLaneShape<8>(tuning.vectors, f);
    case 16:
      return WithLaneShape<16>(tuning.vectors, f);
    default:
      return tuning.vectors == 7   ? f(RowShape<LaneGroup<32>, 7, false>{})
             : tuning.vectors == 8 ? f(RowShape<LaneGroup<32>, 8, false>{})
                                   : WithLaneShape<32>(tuning.vectors, f);
  }
}

/// What a thread of `Shape` holds of a row.
template <typename T, typename Shape, RowAccess kAccess>
using HeldRow =
    std::conditional_t<kAccess == RowAccess::kTiled, TiledVectors<T, Shape::kVectors>,
                       RowVectors<T, Shape::kVectors, InVectors(kAccess), Shape::kReadsMuch, Shape::kVectorsTogether>>;

template <RowAccess kAccess>
using AccessTag = std::integral_constant<RowAccess, kAccess>;

/// The places of an operator's kernels, which read kInputs rows for each result.
template <typename T, typename Shape, RowAccess kAccess, int kInputs>
using HeldSpace = std::conditional_t<kAccess == RowAccess::kTiled, RowTile<T, Shape, kInputs>,
                                     RowSpace<HeldRow<T, Shape, kAccess>, typename Shape::Group, kInputs>>;

/// Launches rows that are walked over.
template <typename Space, auto kKernel, typename Arguments>
cudaError_t LaunchStream(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 2147483647;
  const RowTuning& tuning = arguments.tuning;
  LaunchShape shape;
  shape.threads = static_cast<unsigned>(tuning.threads);
  shape.shared_bytes = Space::BytesOfBlock(shape.threads);
  if (tuning.parts.count == 1) {
    shape.blocks = std::min(rows, kMostBlocks);
    return LaunchKernel(kKernel, shape, stream, arguments, StreamedRows{0, rows, 0});
  }
  const std::int64_t blocks_of_row = 2 * std::int64_t{RangesOfRow(tuning.parts)};  // for totals, and for results
  const std::int64_t most = std::min(StreamedRows::kMostInParts, kMostBlocks / blocks_of_row);
  cudaError_t error = cudaSuccess;
  for (std::int64_t first = 0; first < rows && error == cudaSuccess; first += most) {
    const StreamedRows some = StreamedRows::InParts(tuning.parts, first, std::min(most, rows - first));
    shape.blocks = some.count * blocks_of_row;
    error = LaunchKernel(kKernel, shape, stream, arguments, some);
  }
  return error;
}

/// Launches rows that threads of `Shape` hold. Halves of vectors that fill no tile, or that blocks hold, are rows that
/// begin anywhere.
template <typename T, typename Kernels, typename Shape, typename Arguments>
cudaError_t LaunchHeld(RowAccess access, const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  const auto launch = [&](auto tag) {
    constexpr RowAccess kAccess = decltype(tag)::value;
    return LaunchRows<typename Shape::Group, HeldSpace<T, Shape, kAccess, Kernels::kInputs>,
                      Kernels::template kHeld<Shape, kAccess>>(arguments, rows, stream);
  };
  if constexpr (Kernels::kUsual) {
    if constexpr (!Shape::kOfBlocks && !Shape::kOfOddRows) {
      constexpr int kRows = RowTile<T, Shape, Kernels::kInputs>::kRows;
      if (access == RowAccess::kTiled &&
          kRows * arguments.width * static_cast<std::int64_t>(sizeof(T)) % kGranuleBytes == 0) {
        return launch(AccessTag<RowAccess::kTiled>{});
      }
    }
    if constexpr (!Shape::kOfOddRows) {
      if (access == RowAccess::kDense) {
        return launch(AccessTag<RowAccess::kDense>{});
      }
    }
    if constexpr (!Shape::kOfPlainRows) {
      if (access == RowAccess::kTiled || access == RowAccess::kOdd) {
        return launch(AccessTag<RowAccess::kOdd>{});
      }
    }
  }
  if constexpr (Shape::kOfOddRows) {
    return launch(AccessTag<RowAccess::kShifted>{});
  } else {
    if constexpr (!Shape::kOfPlainRows) {
      if (!InVectors(access)) {
        return launch(AccessTag<RowAccess::kShifted>{});
      }
    }
    return launch(AccessTag<RowAccess::kPlain>{});
  }
}

/// Launches rows of type T, with results of type `y_type`, by the tuning that fits them. `Kernels` names an operator's
/// two, kHeld<Shape, access> for rows that registers hold, with results of type T, and kStreamed<Out, plain> for all
/// others (`plain`: of type T, and in parts), and says how many rows they read for each result, and whether there are
/// some for the usual launch (kUsual). `access`: see AccessOf. Sets arguments.tuning.
template <typename T, typename Kernels, typename Arguments>
cudaError_t LaunchRowsOf(RowWork work, DataType y_type, RowAccess access, std::int64_t rows, Arguments arguments,
                         cudaStream_t stream) {
  const bool plain = InVectors(access);
  const std::int64_t row_bytes = arguments.width * static_cast<std::int64_t>(sizeof(T));
  const RowDevice device{DeviceHasClusters(), static_cast<std::int64_t>(MostSharedBytes())};
  arguments.tuning = TuneRows(work, row_bytes, rows, static_cast<int>(sizeof(T)), plain, device);
  if (y_type == kDataTypeOf<T> && arguments.width > 0 && arguments.tuning.method != RowTuning::Method::kStream) {
    return WithRowShape(arguments.tuning, [&](auto shape) {
      if constexpr (decltype(shape)::IsFor(sizeof(T))) {
        return LaunchHeld<T, Kernels, decltype(shape)>(access, arguments, rows, stream);
      }
      return cudaErrorInvalidValue;
    });
  }
  arguments.tuning = StreamRows(row_bytes, rows);
  if (plain && y_type == kDataTypeOf<T> && arguments.tuning.parts.count > 1) {
    return LaunchStream<StreamSpace<T, true, Kernels::kInputs>, Kernels::template kStreamed<T, true>>(arguments, rows,
                                                                                                      stream);
  }
  return WithFloatType(y_type, [&](auto tag) {
    using Out = typename decltype(tag)::Type;
    return LaunchStream<StreamSpace<T, false, Kernels::kInputs>, Kernels::template kStreamed<Out, false>>(arguments,
                                                                                                          rows, stream);
  });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_
