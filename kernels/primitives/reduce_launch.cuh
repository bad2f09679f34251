// From a plan to the kernels of a reduction. Which kernel runs, and how parts are shared, may follow the number of
// results: neither changes the order in which a result's elements are combined.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/core/launch_arrivals.h"
#include "kernels/device/launch.cuh"
#include "kernels/primitives/reduce_columns.cuh"
#include "kernels/primitives/reduce_long_rows.cuh"
#include "kernels/primitives/reduce_merge.cuh"
#include "kernels/primitives/reduce_short_columns.cuh"
#include "kernels/primitives/reduce_short_rows.cuh"
#include "kernels/primitives/reduce_store.cuh"
#include "kernels/primitives/reduce_tiled_rows.cuh"
#include "kernels/primitives/reduce_tuning.h"

namespace kernelwire {

/// Whether every input of every request starts at a multiple of `bytes`.
inline bool InputsAreAligned(const Launch& launch, int inputs, std::int64_t bytes) {
  bool aligned = true;
  for (int s = 0; s < launch.segment_count && aligned; ++s) {
    for (int i = 0; i < inputs; ++i) {
      aligned = aligned && reinterpret_cast<std::uintptr_t>(launch.segments[s].inputs[i]) % bytes == 0;
    }
  }
  return aligned;
}

/// `shares`: whether the reduction has kernels of its own for rows of vectors and of pieces; else all are as ragged
/// ones.
inline ReduceArguments ArgumentsOf(const Launch& launch, int inputs, bool shares) {
  const auto params = launch.plan->Params<ReduceParams>();
  ReduceArguments arguments{};
  arguments.table = TableOf(launch);
  arguments.layout = LayOutOnDevice(params);
  arguments.parts = PartsOf(arguments.layout, params.x_type);
  arguments.results = launch.total_rows * arguments.layout.results;
  const std::int64_t length = LengthOfVector(params.x_type);
  arguments.vectors = VectorsOfResult(arguments.layout, params.x_type);
  arguments.accumulator = params.accumulator;
  arguments.y_type = params.y_type;
  arguments.y_bytes = static_cast<std::int64_t>(SizeOf(params.y_type));
  arguments.checked = params.checked;
  arguments.aligned = arguments.layout.run % length == 0 && InputsAreAligned(launch, inputs, 16);
  arguments.shares = shares ? SharesOf(arguments.layout, params.x_type) : RowShares::kRagged;
  arguments.arrivals = reinterpret_cast<uint4*>(launch.tickets + kLaunchTickets);
  for (int i = 0; launch.segment_count == 1 && i < inputs; ++i) {
    const std::int64_t elements = launch.total_rows * arguments.layout.piece;
    arguments.early.Add(launch.segments[0].inputs[i], elements * static_cast<std::int64_t>(SizeOf(params.x_type)),
                        EarlyReads::kMostBytes / inputs);
  }
  return arguments;
}

inline RowReads ReadsOf(const Launch& launch, const ReduceArguments& arguments, int inputs,
                        std::int64_t element_bytes) {
  const std::int64_t piece = BytesOfPiece(element_bytes);
  switch (arguments.shares) {
    case RowShares::kVectors:
      return arguments.aligned ? RowReads::kVectors : RowReads::kAny;
    case RowShares::kPieces:
      return arguments.layout.run * element_bytes % piece == 0 && InputsAreAligned(launch, inputs, piece)
                 ? RowReads::kPieces
                 : RowReads::kShiftedPieces;
    default:
      return RowReads::kAny;
  }
}

inline cudaError_t AskReduceDevice(ReduceDevice* answer) {
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&answer->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  answer->clusters = DeviceHasClusters();
  return error;
}

/// `kMost`: rows of a thread at once, of reductions with one input.
template <typename R, RowReads kReads, int kVectors, int kMost>
cudaError_t LaunchShortRows(const ReduceArguments& arguments, const R& reduction, const ReduceTuning& tuning,
                            cudaStream_t stream) {
  constexpr int kRows = R::kInputs == 1 ? kMost : 1;
  if constexpr (kRows > 1) {
    if (tuning.rows_of_thread == 1) {
      return LaunchShortRows<R, kReads, kVectors, 1>(arguments, reduction, tuning, stream);
    }
  }
  ShortRowGrid grid{};
  grid.threads = tuning.threads;
  while (1 << grid.log_threads < tuning.threads) {
    ++grid.log_threads;
  }
  grid.side_by_side = tuning.block_threads / tuning.threads;
  grid.rows_of_block = grid.side_by_side * kRows;
  const std::int64_t blocks = (arguments.results + grid.rows_of_block - 1) / grid.rows_of_block;
  return LaunchKernel(&ReduceShortRowsKernel<R, kReads, kVectors, kRows>, ShapeOfGrid(blocks, tuning.block_threads),
                      stream, arguments, reduction, grid);
}

template <typename R, RowReads kReads>
cudaError_t LaunchRowsByTuning(const ReduceArguments& arguments, const R& reduction, const ReduceTuning& tuning,
                               cudaStream_t stream) {
  LaunchShape shape = ShapeOfGrid(arguments.results * tuning.blocks, tuning.block_threads);
  switch (tuning.method) {
    case ReduceTuning::Method::kRowBlocks:
      return LaunchKernel(&ReduceRowBlocksKernel<R, kReads>, shape, stream, arguments, reduction);
    case ReduceTuning::Method::kLongRows:
      if (tuning.sharing == PartSharing::kGrid) {
        return LaunchKernel(&ReduceSharedRowsKernel<R, kReads>, shape, stream, arguments, reduction, tuning.blocks);
      }
      shape.cluster_blocks = static_cast<unsigned>(tuning.blocks);
      return LaunchKernel(&ReduceLongRowsKernel<R, kReads>, shape, stream, arguments, reduction, tuning.blocks);
    default:
      break;
  }
  if constexpr (kReads != RowReads::kAny) {
    if constexpr (kReads != RowReads::kVectors) {
      if (tuning.vectors == 3) {
        return LaunchShortRows<R, kReads, 3, 2>(arguments, reduction, tuning, stream);
      }
    }
    switch (tuning.vectors) {
      case 2:
        return LaunchShortRows<R, kReads, 2, 4>(arguments, reduction, tuning, stream);
      case 4:
        return LaunchShortRows<R, kReads, 4, 2>(arguments, reduction, tuning, stream);
      case 6:
        return LaunchShortRows<R, kReads, 6, 1>(arguments, reduction, tuning, stream);
      default:
        break;
    }
  }
  return LaunchShortRows<R, kReads, kVectorsInFlight, 1>(arguments, reduction, tuning, stream);
}

/// Bytes of a row, if rows are so short and lie so that ReduceTiledRowsKernel takes them; else 0.
inline std::int64_t BytesOfTiledRow(const Launch& launch, const ReduceArguments& arguments, int inputs,
                                    std::int64_t element_bytes) {
  const std::int64_t bytes = arguments.layout.run * element_bytes;
  const bool taken = launch.segment_count == 1 && arguments.shares != RowShares::kRagged &&
                     arguments.layout.piece == arguments.layout.run && bytes <= kMostBytesOfTiledRow &&
                     InputsAreAligned(launch, inputs, 16);
  return taken ? bytes : 0;
}

/// Requires: a row has no more than kMostBytesOfTiledRow.
template <typename R, int kLength = kLeastLengthOfTiledRow<typename R::Element>>
cudaError_t LaunchTiledRows(const ReduceArguments& arguments, const R& reduction, const ReduceTuning& tuning,
                            cudaStream_t stream) {
  if constexpr (kLength * sizeof(typename R::Element) < kMostBytesOfTiledRow) {
    if (arguments.layout.run > kLength) {
      return LaunchTiledRows<R, 2 * kLength>(arguments, reduction, tuning, stream);
    }
  }
  const std::int64_t of_block = std::int64_t{tuning.block_threads} * tuning.rows_of_thread;
  return LaunchKernel(&ReduceTiledRowsKernel<R, kLength>,
                      ShapeOfGrid((arguments.results + of_block - 1) / of_block, tuning.block_threads), stream,
                      arguments, reduction, tuning.rows_of_thread);
}

/// R::kVectors says whether rows that lie well have kernels of their own; else all take those for any.
template <typename R>
cudaError_t LaunchRows(const Launch& launch, const ReduceArguments& arguments, const R& reduction,
                       cudaStream_t stream) {
  ReduceDevice device;
  const cudaError_t error = AskReduceDevice(&device);
  if (error != cudaSuccess) {
    return error;
  }
  const RowReads reads = ReadsOf(launch, arguments, R::kInputs, sizeof(typename R::Element));
  const bool own = R::kVectors && reads != RowReads::kAny;
  constexpr std::int64_t kBytes = sizeof(typename R::Element);
  ReducedRows rows;
  rows.vectors = arguments.vectors;
  rows.shares = arguments.shares;
  rows.odd = arguments.layout.run * kBytes % BytesOfPiece(kBytes) != 0;
  rows.two = R::kInputs == 2;
  rows.costly = kHasReference<R>;
  rows.any_order = kAnyOrder<R>;
  rows.tiled_bytes = R::kVectors ? BytesOfTiledRow(launch, arguments, R::kInputs, kBytes) : 0;
  const ReduceTuning tuning = TuneReducedRows(rows, arguments.parts, arguments.results, own, device);
  if constexpr (R::kVectors) {
    if (tuning.method == ReduceTuning::Method::kTiledRows) {
      return LaunchTiledRows(arguments, reduction, tuning, stream);
    }
    if (reads == RowReads::kVectors) {
      return LaunchRowsByTuning<R, RowReads::kVectors>(arguments, reduction, tuning, stream);
    }
    if (reads == RowReads::kPieces) {
      return LaunchRowsByTuning<R, RowReads::kPieces>(arguments, reduction, tuning, stream);
    }
    if constexpr (sizeof(typename R::Element) < BytesOfPiece(1)) {
      if (reads == RowReads::kShiftedPieces) {
        ReduceArguments asking = arguments;
        asking.rows_ahead = tuning.rows_ahead;
        return LaunchRowsByTuning<R, RowReads::kShiftedPieces>(asking, reduction, tuning, stream);
      }
    }
  }
  ReduceArguments stepped = arguments;
  stepped.layout.reduced = MapOfVectors(arguments.layout, launch.plan->Params<ReduceParams>().x_type);
  const bool short_rows = tuning.method == ReduceTuning::Method::kShortRows;
  stepped.steps = StepsOver(stepped.layout.reduced, short_rows ? tuning.threads : tuning.block_threads);
  return LaunchRowsByTuning<R, RowReads::kAny>(stepped, reduction, tuning, stream);
}

/// Of the whole launch.
inline std::int64_t ColumnsOf(const ReduceArguments& arguments) { return arguments.results * arguments.layout.fold; }

/// Whether there are kernels for short columns that lie so: of vectors that begin anywhere only where their elements
/// are no whole words.
template <typename R, ColumnReads kReads>
inline constexpr bool kHasShortColumns = kReads == ColumnReads::kAligned ||
                                         (kReads == ColumnReads::kUnaligned && sizeof(typename R::Element) < 4);

template <typename R, int kLength, ColumnReads kReads>
ReduceTuning TuneColumnsOf(const ReduceArguments& arguments) {
  return TuneColumns(arguments.layout, arguments.parts, ColumnsOf(arguments), kLength, kHasShortColumns<R, kReads>);
}

template <typename R, int kLength, ColumnReads kReads, int kLanes>
cudaError_t LaunchShortColumns(const ReduceArguments& arguments, const R& reduction, cudaStream_t stream) {
  const std::int64_t of_run = (arguments.layout.run + kLength - 1) / kLength;
  const std::int64_t vectors = arguments.results / arguments.layout.run * of_run;
  return LaunchKernel(&ReduceShortColumnsKernel<R, kLength, kReads, kLanes>,
                      ShapeOfGrid((vectors + kColumnBlock - 1) / kColumnBlock, kColumnBlock), stream, arguments,
                      reduction, of_run, vectors);
}

template <typename R, int kLength, ColumnReads kReads>
cudaError_t LaunchColumns(ReduceArguments arguments, const R& reduction, cudaStream_t stream) {
  const ReduceTuning tuning = TuneColumnsOf<R, kLength, kReads>(arguments);
  const ColumnGrid& grid = tuning.columns;
  if constexpr (kReads == ColumnReads::kAny) {
    arguments.steps = StepsOver(arguments.layout.reduced, grid.lanes);
  }
  if constexpr (kHasShortColumns<R, kReads>) {
    if (tuning.method == ReduceTuning::Method::kShortColumns) {
      return grid.lanes == 1 ? LaunchShortColumns<R, kLength, kReads, 1>(arguments, reduction, stream)
                             : LaunchShortColumns<R, kLength, kReads, 2>(arguments, reduction, stream);
    }
  }
  const std::int64_t blocks = (grid.items + grid.items_of_block - 1) / grid.items_of_block;
  const cudaError_t error = LaunchKernel(&ReduceColumnsKernel<R, kLength, kReads>,
                                         ShapeOfGrid(blocks, tuning.block_threads), stream, arguments, reduction, grid);
  arguments.early = {};  // what is merged is not there before
  arguments.parts = TotalsOf(arguments.layout, arguments.parts);
  return error == cudaSuccess && arguments.parts.count > 1 ? MergeParts(arguments, reduction, stream) : error;
}

/// Whether vectors would leave most multiprocessors without a column. Where a lane goes on reading, threads with single
/// columns are slower from fewer of them on; 8-byte elements, with which less was tried, have them only where what is
/// done with one costs more than its read. Where a thread has the rows of two lanes at once, half as many threads are
/// enough. How many columns a thread has changes no bit.
template <typename R, int kLength, ColumnReads kReads>
bool AreFewColumns(const ReduceArguments& arguments) {
  constexpr std::int64_t kFewThreads = 65536;
  constexpr std::size_t kBytes = sizeof(typename R::Element);
  constexpr std::int64_t kFewNarrow = kReads != ColumnReads::kAligned ? 16384 * kLength
                                      : kBytes == 8                   ? (kHasReference<R> ? 8192 * kLength : 0)
                                      : kBytes == 1                   ? 131072
                                                                      : 98304;
  const std::int64_t lanes = TuneColumnsOf<R, kLength, kReads>(arguments).columns.lanes;
  const bool goes_on = arguments.layout.width > lanes * kVectorsInFlight;
  const std::int64_t narrow = ColumnsOf(arguments) * arguments.parts.count * lanes;
  return goes_on ? narrow < kFewNarrow : narrow / kLength < kFewThreads;
}

/// Neighbouring columns of a thread that has vectors of them: those of 16 bytes; half as many where what is kept of so
/// many would leave registers for two blocks of a multiprocessor only, unless a vector then takes as many reads for
/// half as much.
template <typename R, ColumnReads kReads>
constexpr int ColumnsOfVector() {
  constexpr int kWidest = kWidestVector<typename R::Element>;
  constexpr bool kMuchKept = kWidest * sizeof(typename ColumnSumOf<R>::Type) > 64;
  return kMuchKept && sizeof(typename R::Element) <= 2 && kReads == ColumnReads::kAligned ? kWidest / 2 : kWidest;
}

/// Threads have vectors of columns, or single ones: where vectors would be too few, a run is shorter than one, or
/// they are two elements that one instruction does not read. Short columns that begin anywhere are read as fast one by
/// one, if elements are whole words: side by side, and results need no way through shared memory.
template <typename R, ColumnReads kReads>
cudaError_t LaunchManyColumns(const ReduceArguments& arguments, const R& reduction, cudaStream_t stream) {
  constexpr int kLength = ColumnsOfVector<R, kReads>();
  constexpr ColumnReads kSingle = kReads == ColumnReads::kAny ? ColumnReads::kAny : ColumnReads::kAligned;
  if constexpr (kLength > 2 || kReads != ColumnReads::kUnaligned) {
    const bool single_are_short = !kHasShortColumns<R, kReads> && kSingle == ColumnReads::kAligned &&
                                  arguments.layout.width <= kMostRowsOfShortColumn;
    const bool worth = (kLength > 2 || arguments.aligned) && !single_are_short;
    if (worth && arguments.layout.run >= kLength && !AreFewColumns<R, kLength, kReads>(arguments)) {
      return LaunchColumns<R, kLength, kReads>(arguments, reduction, stream);
    }
  }
  return LaunchColumns<R, 1, kSingle>(arguments, reduction, stream);
}

template <typename R>
cudaError_t LaunchColumnsAsTheyLie(const ReduceArguments& arguments, const R& reduction, cudaStream_t stream) {
  if constexpr (!R::kVectors) {
    return LaunchColumns<R, 1, ColumnReads::kAny>(arguments, reduction, stream);
  } else if (!arguments.layout.IsPlain()) {
    return LaunchManyColumns<R, ColumnReads::kAny>(arguments, reduction, stream);
  } else if (arguments.aligned) {
    return LaunchManyColumns<R, ColumnReads::kAligned>(arguments, reduction, stream);
  } else {
    return LaunchManyColumns<R, ColumnReads::kUnaligned>(arguments, reduction, stream);
  }
}

/// Enqueues `reduction` over the launch. R::kVectors says whether vectors have kernels of their own; without them every
/// shape takes the kernels that take any. R::kColumns: whether any plan of the operator has columns.
template <typename R>
cudaError_t LaunchReduction(const Launch& launch, const R& reduction, cudaStream_t stream) {
  const ReduceArguments arguments = ArgumentsOf(launch, R::kInputs, R::kVectors);
  if (arguments.results == 0) {
    return cudaSuccess;
  }
  if constexpr (R::kColumns) {
    if (arguments.layout.columns) {
      return LaunchColumnsAsTheyLie(arguments, reduction, stream);
    }
  }
  return LaunchRows(launch, arguments, reduction, stream);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_LAUNCH_CUH_
