// From a row's width to the kernel that fits it, and the launch of that: what the row-wise operators launch alike.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/device/memory_rate.cuh"
#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_kept.cuh"
#include "kernels/primitives/row_parts.h"
#include "kernels/primitives/row_room.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_tile.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// Whether there is code of its own for warps all of whose lanes have a row, which are all but the last, and code for
/// the others: words of short rows would ask at every step. In the usual launch the longer code is slower.
template <typename Group, typename Loads, RowAccess kAccess>
inline constexpr bool kForkTogether =
    Group::kLanes > 1 && Group::kLanes < 32 && decltype(Loads::x)::kStoresTogether&& kAccess == RowAccess::kShifted;

/// Asks for the rows that a block to come begins with, RowTuning::rows_ahead behind those from `index` on. Lanes' rows
/// are known to be neighbours in the usual launch only.
template <RowAccess kAccess, typename Loads, typename Group, typename RowAt>
__device__ __forceinline__ void FetchRowsAhead(const Group& group, const RowTuning& tuning, std::int64_t rows,
                                               const RowAt& row_at, std::int64_t index) {
  constexpr bool kOfBlock = std::is_same_v<Group, BlockGroup>;
  if constexpr (kOfBlock || (kInUsualLaunch<kAccess> && Group::kLanes > 1)) {
    const std::int64_t then = index + tuning.rows_ahead;
    const int count = kOfBlock ? 1 : tuning.rows_of_block;
    if (threadIdx.x == 0 && tuning.rows_ahead > 0 && then + count <= rows) {
      Loads::ForEachSource(row_at(then), [&](const auto& source) {
        const auto row_bytes = source.count * std::int64_t{sizeof(*source.data)};
        if constexpr (kOfBlock) {
          FetchAhead(source.data, row_bytes, group.block(), static_cast<unsigned>(tuning.cluster_blocks));
        } else {
          FetchAhead(source.data, count * row_bytes, 0, 1);
        }
      });
    }
  }
}

/// Calls body(row, loads, again) for each row of the group's, where row = row_at(index), `loads` has what it reads of
/// it, and again() finds the row once more, for kernels that would not have the registers to remember it. A group that
/// looks ahead asks for the next row before it works on this one, so that memory does not rest while threads agree on a
/// sum.
template <bool kLooksAhead, RowAccess kAccess, typename Group, typename RowAt, typename Space, typename Loads,
          typename Body>
__device__ __forceinline__ void ForEachRow(Group& group, const NoTickets& /*none*/, const RowTuning& tuning,
                                           std::int64_t rows, const RowAt& row_at, const Space& /*space*/, Loads next,
                                           const Body& body) {
  using Grid = RowGrid<Group>;
  const int cluster_blocks = tuning.cluster_blocks;
  // Rows that pass through shared memory leave their place before the next one comes there; others are on their way
  // together.
  constexpr bool kTogether = kLooksAhead && Space::kGranules == 0;
  const std::int64_t step = Grid::RowsOfGrid(cluster_blocks);
  std::int64_t index = Grid::FirstRow(cluster_blocks);
  if (kLooksAhead && index < rows) {
    next.Begin(group, row_at(index));
  }
  const auto work_on_row = [&] {
    const auto row = row_at(index);  // found again, where rows are looked ahead to, rather than kept in registers
    if constexpr (!kLooksAhead) {
      FetchRowsAhead<kAccess, Loads>(group, tuning, rows, row_at, index);  // now, when registers hold nothing yet
      next.Begin(group, row);
    }
    Loads loads = next;
    if (!kTogether) {
      loads.Finish(group, row);
    }
    index += step;
    asm volatile("" : "+l"(index));
    if (kLooksAhead && index < rows) {
      next.Begin(group, row_at(index));
    }
    if (kTogether) {
      loads.Finish(group, row);
    }
    body(row, loads, [&] {
      std::int64_t same = index - step;
      asm volatile("" : "+l"(same));
      return row_at(same);
    });
  };
  while (index < rows) {
    Grid::Begin(group, index, rows);
    if constexpr (kForkTogether<Group, Loads, kAccess>) {
      if (group.IsTogether()) {
        group.Begin(true);
        work_on_row();
      } else {
        group.Begin(false);
        work_on_row();
      }
    } else {
      work_on_row();
    }
  }
}

/// The same of a cluster that stays.
template <bool kLooksAhead, RowAccess kAccess, typename RowAt, typename Space, typename Loads, typename Body>
__device__ __forceinline__ void ForEachRow(BlockGroup& group, TicketRows<1>& tickets, const RowTuning& tuning,
                                           std::int64_t rows, const RowAt& row_at, const Space& /*space*/, Loads begin,
                                           const Body& body) {
  static_assert(!kLooksAhead && Space::kGranules == 0);
  for (; tickets.Row() < rows; tickets.GoOn()) {
    tickets.Ask(group);
    const auto row = row_at(tickets.Row());
    FetchRowsAhead<kAccess, Loads>(group, tuning, rows, row_at, tickets.Row());
    Loads loads = begin;
    loads.Begin(group, row);
    loads.Finish(group, row);
    body(row, loads, [&] { return row_at(tickets.Row()); });
  }
  tickets.End(group);
}

/// Launches a kernel over `rows`, with the shared memory of a RowSpace, that goes on with row + RowsOfGrid() until none
/// is left. Lanes get blocks for all of their rows; blocks that look ahead, or take tickets, stay, as many as there is
/// room for.
template <typename Group, typename Space, auto kKernel, typename Arguments>
cudaError_t LaunchRows(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  const RowTuning& tuning = arguments.tuning;
  LaunchShape shape;
  shape.cluster_blocks = static_cast<unsigned>(tuning.cluster_blocks);
  shape.balances_clusters = tuning.balanced;
  if (std::is_same_v<Group, BlockGroup>) {
    shape.threads = static_cast<unsigned>(tuning.threads);
    shape.shared_bytes = Space::BytesOfBlock(shape.threads) +
                         BlockGroup::SpaceOf(shape.threads / 32, shape.cluster_blocks, tuning.vector_bytes == 4);
    shape.blocks = std::min(rows, kMostBlocksOfGrid / tuning.cluster_blocks) * tuning.cluster_blocks;
    if (tuning.looks_ahead || tuning.stays) {
      shape.blocks = std::min(shape.blocks, RoomForClusters<kKernel>(shape) * tuning.cluster_blocks);
    }
  } else {
    const std::int64_t of_block = std::int64_t{tuning.rows_of_block} * tuning.turns;
    shape.blocks = std::min((rows + of_block - 1) / of_block, kMostBlocksOfGrid);
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
  /// Calls f with what is read of `row`.
  template <typename Row, typename F>
  static __device__ __forceinline__ void ForEachSource(const Row& row, const F& f) {
    f(row.x);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Begin(const Group& group, const Row& row) {
    x.template Begin<Fill>(group, row.x, place);
  }
  template <typename Group, typename Row>
  __device__ __forceinline__ void Finish(const Group& group, const Row& row) {
    x.template Finish<Fill>(group, row.x, place);
  }
  /// Of Held in shared memory: see WithSummed.
  template <typename Group, typename Row>
  __device__ __forceinline__ auto InVectors(const Group& group, const Row& row) const {
    return x.InVectors(group, row.x, place);
  }
};

/// Launches rows that are walked over.
template <typename Space, auto kKernel, typename Arguments>
cudaError_t LaunchStream(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  const RowTuning& tuning = arguments.tuning;
  LaunchShape shape;
  shape.threads = static_cast<unsigned>(tuning.threads);
  shape.shared_bytes = Space::BytesOfBlock(shape.threads);
  if (tuning.parts.count == 1) {
    shape.blocks = std::min(rows, kMostBlocksOfGrid);
    return LaunchKernel(kKernel, shape, stream, arguments, StreamedRows{0, rows, 0});
  }
  const std::int64_t blocks_of_row = 2 * std::int64_t{RangesOfRow(tuning.parts)};  // for totals, and for results
  const std::int64_t most = std::min(StreamedRows::kMostInParts, kMostBlocksOfGrid / blocks_of_row);
  cudaError_t error = cudaSuccess;
  for (std::int64_t first = 0; first < rows && error == cudaSuccess; first += most) {
    const StreamedRows some = StreamedRows::InParts(tuning.parts, first, std::min(most, rows - first));
    shape.blocks = some.count * blocks_of_row;
    error = LaunchKernel(kKernel, shape, stream, arguments, some);
  }
  return error;
}

/// Launches rows that threads of `Shape` hold. In the usual launch rows that begin anywhere are held in words, but for
/// tiled ones.
template <typename T, typename Kernels, typename Shape, typename Arguments>
cudaError_t LaunchHeld(RowAccess access, const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  const auto launch = [&](auto tag) {
    constexpr RowAccess kAccess = decltype(tag)::value;
    return LaunchRows<typename Shape::Group, HeldSpace<T, Shape, kAccess, Kernels::kInputs>,
                      Kernels::template kHeld<Shape, kAccess>>(arguments, rows, stream);
  };
  if constexpr (kSumsVectors<Shape>) {
    return launch(AccessTag<RowAccess::kShifted>{});  // others lie in vectors
  } else if constexpr (Shape::kOfWords) {
    constexpr int kWords = Shape::kBytes / 4;
    if constexpr (!Shape::kOfBlocks && HasTileOfWords(Kernels::kWork, sizeof(T), Shape::Group::kLanes, kWords)) {
      if (arguments.tuning.in_tile) {
        return launch(AccessTag<RowAccess::kTiled>{});
      }
    }
    if constexpr (Shape::kOfBlocks && HasStayingClusters(Kernels::kWork, sizeof(T), kWords) && !Shape::kInShared) {
      if (arguments.tuning.stays) {
        return LaunchRows<BlockGroup, HeldSpace<T, Shape, RowAccess::kOdd, Kernels::kInputs>,
                          Kernels::template kHeld<StayingShape<Shape>, RowAccess::kOdd>>(arguments, rows, stream);
      }
    }
    if constexpr (Shape::kOfBlocks && !Shape::kInShared &&
                  HasKeptClusters(Kernels::kWork, sizeof(T), kWords, Shape::BlockThreads(RowAccess::kOdd))) {
      if (arguments.tuning.keeps_parameters && arguments.tuning.cluster_blocks > 1) {
        constexpr std::int64_t kAlike = 4 / sizeof(T);  // elements of a word, with which rows begin by turns
        return LaunchKeptByClusters<Shape, Kernels::template KeptByClusters<Shape>(), kAlike>(arguments, rows, stream);
      }
    }
    if constexpr (HasKeptParameters(Kernels::kWork, sizeof(T), Shape::Group::kLanes)) {
      if (arguments.tuning.keeps_parameters) {
        return LaunchKept<Shape, Kernels::template kPairBytes<Shape>, Kernels::template kKept<Shape>>(arguments, rows,
                                                                                                      stream);
      }
    }
    constexpr RowAccess kUsual = Shape::kOfThreads ? RowAccess::kTiled : RowAccess::kOdd;
    return access == RowAccess::kPlain || access == RowAccess::kShifted ? launch(AccessTag<RowAccess::kShifted>{})
                                                                        : launch(AccessTag<kUsual>{});
  } else {
    if constexpr (Kernels::kUsual) {
      if constexpr (Shape::kInTileOfVectors) {
        if (arguments.tuning.in_tile && access == RowAccess::kDense) {
          return launch(AccessTag<RowAccess::kTiledVectors>{});
        }
      }
      if constexpr (Shape::kInTileOfHalves) {
        if (arguments.tuning.in_tile) {
          return launch(AccessTag<RowAccess::kTiled>{});
        }
      }
      if (access == RowAccess::kDense) {
        if constexpr (Shape::kOfBlocks &&
                      HasStayingClustersInVectors(Kernels::kWork, Shape::kVectors, Shape::kLooksAhead)) {
          if (arguments.tuning.stays) {
            return LaunchRows<BlockGroup, HeldSpace<T, Shape, RowAccess::kDense, Kernels::kInputs>,
                              Kernels::template kHeld<StayingShape<Shape>, RowAccess::kDense>>(arguments, rows, stream);
          }
        }
        return launch(AccessTag<RowAccess::kDense>{});
      }
    }
    if constexpr (!Shape::kOfPlainRows) {
      if (!InVectors(access)) {
        return launch(AccessTag<RowAccess::kShifted>{});
      }
    }
    return launch(AccessTag<RowAccess::kPlain>{});
  }
}

/// Launches rows of type T, with results of type `y_type`, by the tuning that fits them. `Kernels` names an operator's
/// two, kHeld<Shape, access> for rows that registers hold, with results of type T, and kStreamed<Out, access> for all
/// others, and says what work they do (kWork), how many rows they read for each result, and whether there are some for
/// rows in vectors in the usual launch (kUsual); where HasKeptParameters, also kKept<Shape> and kPairBytes<Shape>,
/// where HasKeptClusters, KeptByClusters<Shape>(). `reached`: see AccessOf. Sets arguments.tuning.
template <typename T, typename Kernels, typename Arguments>
cudaError_t LaunchRowsOf(DataType y_type, RowAccess reached, std::int64_t rows, Arguments arguments,
                         cudaStream_t stream) {
  const bool plain = InVectors(reached);
  const RowAccess access = plain && !Kernels::kUsual ? RowAccess::kPlain : reached;
  const std::int64_t row_bytes = arguments.width * static_cast<std::int64_t>(sizeof(T));
  const RowDevice device{DeviceHasClusters(), static_cast<std::int64_t>(MostSharedBytes()), DeviceHasFastMemory()};
  arguments.tuning = TuneRows(Kernels::kWork, row_bytes, rows, static_cast<int>(sizeof(T)), access, device);
  if (y_type == kDataTypeOf<T> && arguments.width > 0 && arguments.tuning.method != RowTuning::Method::kStream) {
    return WithRowShape<Kernels::kWork, static_cast<int>(sizeof(T))>(arguments.tuning, [&](auto shape) {
      return LaunchHeld<T, Kernels, decltype(shape)>(access, arguments, rows, stream);
    });
  }
  arguments.tuning = StreamRows(Kernels::kWork, row_bytes, rows, static_cast<int>(sizeof(T)));
  const auto stream_rows = [&](auto out, auto how) {
    using Out = typename decltype(out)::Type;
    constexpr StreamAccess kHow = decltype(how)::value;
    return LaunchStream<StreamSpace<T, kHow, Kernels::kInputs>, Kernels::template kStreamed<Out, kHow>>(arguments, rows,
                                                                                                        stream);
  };
  if (y_type == kDataTypeOf<T> && arguments.tuning.parts.count > 1) {
    if constexpr (sizeof(T) <= 4) {
      if (AreHeldInWords(row_bytes, static_cast<int>(sizeof(T)))) {
        return stream_rows(TypeTag<T>{}, StreamTag<StreamAccess::kWords>{});
      }
    }
    if (plain) {
      return stream_rows(TypeTag<T>{}, StreamTag<StreamAccess::kVectors>{});
    }
  }
  return WithFloatType(y_type, [&](auto out) { return stream_rows(out, StreamTag<StreamAccess::kShifted>{}); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_
