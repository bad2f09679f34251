// From a row's width to the kernel that fits it, and the launch of that: what the row-wise operators launch alike. One
// chain of choices, each of which has its own sort of kernels: hence the length of this file.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/device/launch.cuh"
#include "kernels/device/memory_rate.cuh"
#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_kept.cuh"
#include "kernels/primitives/row_loop.cuh"
#include "kernels/primitives/row_parts.h"
#include "kernels/primitives/row_room.cuh"
#include "kernels/primitives/row_shape_choice.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_stream.cuh"
#include "kernels/primitives/row_tickets.cuh"
#include "kernels/primitives/row_tile.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// Launches a kernel over `rows`, with the shared memory of a RowSpace, that goes on with row + RowsOfGrid() until none
/// is left. There are blocks for all rows, by RowTuning::turns; those that look ahead, or take tickets, stay, as many
/// as there is room for.
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
    const std::int64_t clusters = (rows + tuning.turns - 1) / tuning.turns;
    shape.blocks = std::min(clusters, kMostBlocksOfGrid / tuning.cluster_blocks) * tuning.cluster_blocks;
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
  /// Between them, of StagedRow.
  template <typename Group, typename Row>
  __device__ __forceinline__ void Take(const Group& group, const Row& row) {
    x.template Take<Fill>(group, row.x, place);
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

template <typename T, typename Kernels, typename Shape, RowAccess kAccess, typename Arguments>
cudaError_t LaunchHeldBy(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  return LaunchRows<typename Shape::Group, HeldSpace<T, Shape, kAccess, Kernels::kInputs>,
                    Kernels::template kHeld<Shape, kAccess>>(arguments, rows, stream);
}

/// Launches rows that threads of `Shape` hold in words, as those that begin anywhere are held in the usual launch.
template <typename T, typename Kernels, typename Shape, typename Arguments>
cudaError_t LaunchHeldInWords(RowAccess access, const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  constexpr int kWords = Shape::kBytes / 4;
  if constexpr (!Shape::kOfBlocks && HasTileOfWords(Kernels::kWork, sizeof(T), Shape::Group::kLanes, kWords)) {
    if (arguments.tuning.in_tile) {
      return LaunchHeldBy<T, Kernels, Shape, RowAccess::kTiled>(arguments, rows, stream);
    }
  }
  if constexpr (Shape::kOfBlocks && HasStayingClusters(Kernels::kWork, sizeof(T), kWords)) {
    if (arguments.tuning.stays) {
      return LaunchHeldBy<T, Kernels, StagedWordShape<typename Shape::InRegisters>, RowAccess::kOdd>(arguments, rows,
                                                                                                     stream);
    }
  }
  if constexpr (Shape::kOfBlocks &&
                HasKeptClusters(Kernels::kWork, sizeof(T), kWords, Shape::BlockThreads(RowAccess::kOdd))) {
    if (arguments.tuning.keeps_parameters && arguments.tuning.cluster_blocks > 1) {
      using Its = typename Shape::InRegisters;
      constexpr std::int64_t kAlike = 4 / sizeof(T);  // elements of a word, with which rows begin by turns
      return LaunchKeptByClusters<Its, HeldSpace<T, StagedWordShape<Its>, RowAccess::kOdd, 1>,
                                  Kernels::template KeptByClusters<Its, RowAccess::kOdd>(), kAlike>(arguments, rows,
                                                                                                    stream);
    }
  }
  if constexpr (HasKeptParameters(Kernels::kWork, sizeof(T), Shape::Group::kLanes)) {
    if (arguments.tuning.keeps_parameters) {
      return LaunchKept<Shape, Kernels::template kPairBytes<Shape>, Kernels::template kKept<Shape>>(arguments, rows,
                                                                                                    stream);
    }
  }
  constexpr RowAccess kUsual = Shape::kOfThreads ? RowAccess::kTiled : RowAccess::kOdd;
  const bool is_usual =
      access != RowAccess::kPlain && access != RowAccess::kShifted && access != RowAccess::kMisaligned;
  return is_usual ? LaunchHeldBy<T, Kernels, Shape, kUsual>(arguments, rows, stream)
                  : LaunchHeldBy<T, Kernels, Shape, RowAccess::kShifted>(arguments, rows, stream);
}

/// Launches rows whose parameters clusters keep, in vectors.
template <typename T, typename Kernels, typename Shape, RowAccess kAccess, typename Arguments>
cudaError_t LaunchKeptVectors(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  return LaunchKeptByClusters<Shape, HeldSpace<T, Shape, kAccess, 1>,
                              Kernels::template KeptByClusters<Shape, kAccess>(), 1>(arguments, rows, stream);
}

/// The same in vectors, of rows that lie one after another; `kAccess`: of the usual launch, or misaligned.
template <typename T, typename Kernels, typename Shape, RowAccess kAccess, typename Arguments>
cudaError_t LaunchHeldDensely(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  if constexpr (Shape::kOfBlocks) {
    if constexpr (HasStayingClustersInVectors(Kernels::kWork, Shape::kVectors, Shape::kLooksAhead)) {
      if (arguments.tuning.stays) {
        return LaunchHeldBy<T, Kernels, StayingShape<Shape>, kAccess>(arguments, rows, stream);
      }
    }
    if constexpr (HasKeptClustersInVectors(Kernels::kWork, sizeof(T), Shape::kLooksAhead)) {
      if (arguments.tuning.keeps_parameters) {
        return LaunchKeptVectors<T, Kernels, Shape, kAccess>(arguments, rows, stream);
      }
    }
  }
  return LaunchHeldBy<T, Kernels, Shape, kAccess>(arguments, rows, stream);
}

/// Whether there are kernels of their own for misaligned rows that threads of `Shape` hold. Without, they are held as
/// any that begin anywhere: where fewer than 8 lanes share a row; in 16-bit softmax of lanes, and FP32 softmax of
/// blocks with 8 vectors a thread, which are as fast so, unless these look ahead or have long results; and two FP32
/// rows, but for threads with 8 vectors of each, and the registers for them, or 16 of one.
template <typename Kernels, typename Shape>
constexpr bool HasMisaligned(int element_bytes) {
  constexpr bool kOfSoftmax = AreOfSoftmax(Kernels::kWork);
  if constexpr (Shape::kOfBlocks) {
    const bool of_two_wide = Kernels::kWork == RowWork::kTwoInputs && element_bytes == 4;
    const bool in_eight = Shape::kLooksAhead ? !of_two_wide : Kernels::kWork != RowWork::kSoftmax || element_bytes == 2;
    return Shape::kVectors == 16  ? Kernels::kWork == RowWork::kTwoInputs
           : Shape::kVectors == 8 ? in_eight
                                  : Shape::kVectors == 4 && !Shape::kReadsMuch && !of_two_wide;
  }
  return Shape::Group::kLanes >= 8 && (!kOfSoftmax || element_bytes == 4);
}
/// The same for odd rows that are moved in vectors (AreMovedInVectors).
template <typename Kernels, typename Shape>
constexpr bool HasMovedOdd(int element_bytes) {
  return Shape::kOfBlocks && Shape::kVectors == 8 && !(Kernels::kWork == RowWork::kTwoInputs && Shape::kLooksAhead) &&
         HasMisaligned<Kernels, Shape>(element_bytes);
}

/// Launches rows that threads with a StagedShape hold, which are reached so.
template <typename T, typename Kernels, typename Shape, RowAccess kAccess, typename Arguments>
cudaError_t LaunchStagedBy(const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  if constexpr (Kernels::kWork == RowWork::kMoments) {
    return LaunchKeptVectors<T, Kernels, Shape, kAccess>(arguments, rows, stream);
  } else {
    return LaunchHeldBy<T, Kernels, Shape, kAccess>(arguments, rows, stream);
  }
}
/// Whether there are kernels so. Of 8 vectors those that are moved have no room in the largest blocks.
template <typename Kernels, typename Shape>
constexpr bool HasStaged(int element_bytes, RowAccess access) {
  return Shape::kVectors == 16
             ? HasStagedClusters(Kernels::kWork, element_bytes, access)
             : HasStagedClustersOfEight(Kernels::kWork, element_bytes, access) &&
                   (access == RowAccess::kDense || Shape::BlockThreads(access) <= kThreadsOfStagedEight);
}
template <typename T, typename Kernels, typename Shape, typename Arguments>
cudaError_t LaunchStaged(RowAccess access, const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  if constexpr (HasStaged<Kernels, Shape>(sizeof(T), RowAccess::kMisaligned)) {
    if (access == RowAccess::kMisaligned) {
      return LaunchStagedBy<T, Kernels, Shape, RowAccess::kMisaligned>(arguments, rows, stream);
    }
  }
  if constexpr (HasStaged<Kernels, Shape>(sizeof(T), RowAccess::kOdd)) {
    if (access != RowAccess::kDense) {
      return LaunchStagedBy<T, Kernels, Shape, RowAccess::kOdd>(arguments, rows, stream);
    }
  }
  if constexpr (HasStaged<Kernels, Shape>(sizeof(T), RowAccess::kDense)) {
    return LaunchStagedBy<T, Kernels, Shape, RowAccess::kDense>(arguments, rows, stream);
  }
  return cudaErrorNotSupported;  // never asked for
}

/// Launches rows that threads of `Shape` hold.
template <typename T, typename Kernels, typename Shape, typename Arguments>
cudaError_t LaunchHeld(RowAccess access, const Arguments& arguments, std::int64_t rows, cudaStream_t stream) {
  if constexpr (Shape::kStaged) {
    return LaunchStaged<T, Kernels, Shape>(access, arguments, rows, stream);
  } else if constexpr (kSumsVectors<Shape>) {
    return LaunchHeldBy<T, Kernels, Shape, RowAccess::kShifted>(arguments, rows, stream);  // others lie in vectors
  } else if constexpr (Shape::kOfWords) {
    return LaunchHeldInWords<T, Kernels, Shape>(access, arguments, rows, stream);
  } else if constexpr (Shape::kOfWarp) {
    if constexpr (AreOfPlainWarp(Kernels::kWork, sizeof(T), Shape::kVectors)) {
      if (InVectors(access)) {
        return access == RowAccess::kDense
                   ? LaunchHeldBy<T, Kernels, Shape, RowAccess::kDense>(arguments, rows, stream)
                   : LaunchHeldBy<T, Kernels, Shape, RowAccess::kPlain>(arguments, rows, stream);
      }
    }
    return LaunchHeldBy<T, Kernels, Shape, RowAccess::kMisaligned>(arguments, rows, stream);  // TuneRows: no others
  } else {
    if constexpr (Kernels::kUsual) {
      if constexpr (Shape::kInTileOfVectors) {
        if (arguments.tuning.in_tile && access == RowAccess::kDense) {
          return LaunchHeldBy<T, Kernels, Shape, RowAccess::kTiledVectors>(arguments, rows, stream);
        }
      }
      if constexpr (Shape::kInTileOfHalves) {
        if (arguments.tuning.in_tile) {
          return LaunchHeldBy<T, Kernels, Shape, RowAccess::kTiled>(arguments, rows, stream);
        }
      }
      if (access == RowAccess::kDense) {
        return LaunchHeldDensely<T, Kernels, Shape, RowAccess::kDense>(arguments, rows, stream);
      }
      if constexpr (HasMisaligned<Kernels, Shape>(sizeof(T))) {
        if (access == RowAccess::kMisaligned) {
          return LaunchHeldDensely<T, Kernels, Shape, RowAccess::kMisaligned>(arguments, rows, stream);
        }
      }
      if constexpr (HasMovedOdd<Kernels, Shape>(sizeof(T))) {
        if (access == RowAccess::kOdd || access == RowAccess::kTiled) {
          return LaunchHeldDensely<T, Kernels, Shape, RowAccess::kOdd>(arguments, rows, stream);
        }
      }
    }
    if constexpr (!Shape::kOfPlainRows) {
      if (!InVectors(access)) {
        return LaunchHeldBy<T, Kernels, Shape, RowAccess::kShifted>(arguments, rows, stream);
      }
    }
    return LaunchHeldBy<T, Kernels, Shape, RowAccess::kPlain>(arguments, rows, stream);
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
  const RowAccess access = Kernels::kUsual ? reached : plain ? RowAccess::kPlain : RowAccess::kShifted;
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
