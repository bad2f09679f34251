// The shapes that kernels for held rows are compiled for: which threads share a row, and what each of them holds.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHAPES_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHAPES_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_grid.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_in_shared.cuh"
#include "kernels/primitives/row_of_thread.cuh"
#include "kernels/primitives/row_shifted.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_staged.cuh"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_tile.cuh"
#include "kernels/primitives/row_tile_words.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_words.cuh"

namespace kernelwire {

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

/// A group of threads, what each of them holds in vectors, whether it looks ahead, and whether it is for launches that
/// read much, as types.
template <typename GroupType, int kVectorsOfThread, bool kAhead, bool kMuch = false>
struct RowShape {
  using Group = GroupType;
  static constexpr bool kOfWords = false;
  static constexpr bool kOfWarp = false;
  static constexpr bool kWholeBlocks = false;  // see BlockGroup
  static constexpr bool kInShared = false;
  static constexpr int kVectors = kVectorsOfThread;
  static constexpr int kBytes = 16 * kVectors;  // that a thread holds
  static constexpr bool kOfBlocks = std::is_same_v<GroupType, BlockGroup>;
  static constexpr bool kLooksAhead = kAhead;
  static constexpr bool kStaged = false;
  static constexpr bool kReadsMuch = kMuch;
  static constexpr bool kStays = false;
  // Others are asked for only where nothing but where tensors begin is unusual of a launch.
  static constexpr bool kOfPlainRows = kMuch && (kVectors == 4 || kVectors == 16);
  static constexpr bool kInTileOfHalves = !kOfBlocks && kVectors > 2;
  static constexpr bool kInTileOfVectors = kInTileOfHalves && GroupType::kLanes <= 8;

  /// Whether rows that begin anywhere are moved in registers. Where launches are not the usual ones, and there is more
  /// to remember of a request, two of them on their way would not fit there: those of two inputs, and of wider
  /// elements, whose results take more registers, where the next row is asked for ahead.
  template <typename T, RowAccess kAccess, int kInputs>
  static constexpr bool kShifts = kAccess == RowAccess::kMisaligned ||
                                  (kOfBlocks &&
                                   (kAccess == RowAccess::kOdd ||
                                    (kAccess == RowAccess::kShifted && kInputs == 1 && (sizeof(T) == 2 || !kAhead))));
  /// Whether results of those are found one after another: where registers hold another row, or as much, or have more
  /// to remember of a request, and of two FP16 or BF16 inputs, whose results are one row, and then another.
  template <typename T, RowAccess kAccess, int kInputs>
  static constexpr bool kInTurn = kAhead || kVectors == 16 || kAccess == RowAccess::kShifted ||
                                  (kInputs == 2 && sizeof(T) == 2);
  template <typename T, RowAccess kAccess, int kInputs>
  using Held = std::conditional_t<
      kInTile<kAccess>, TiledVectors<T, kVectors, kAccess == RowAccess::kTiledVectors>,
      std::conditional_t<kShifts<T, kAccess, kInputs>,
                         ShiftedVectors<T, kVectors, HasVectors(kAccess), kInTurn<T, kAccess, kInputs>, kReadsMuch>,
                         RowVectors<T, kVectors, InVectors(kAccess), kReadsMuch>>>;

  // For __launch_bounds__: as many registers as let enough of the largest blocks run at a time. Rows that begin
  // anywhere want more, so their blocks are smaller (TuneRows).
  static constexpr int BlockThreads(RowAccess access) {
    return !kOfBlocks                                     ? BlockThreadsOfLanes(kVectors)
           : !kAhead && (kVectors > 4 || IsMoved(access)) ? 256
                                                          : RowGrid<BlockGroup>::kBlockThreads;
  }
  /// Where lanes have rows that do not begin anywhere, of a multiprocessor.
  template <bool kMore>
  static constexpr int kThreadsOfLanes = 896;
  static constexpr int ResidentBlocks(RowAccess access, int threads_of_lanes = kThreadsOfLanes<false>) {
    const bool shifted = IsMoved(access);
    const int wanted = !kOfBlocks ? (shifted ? 768 : threads_of_lanes) / BlockThreads(access)
                       : kAhead   ? 1
                       : kVectors == 8 && shifted && access != RowAccess::kShifted ? 2
                       : kVectors == 4 && !shifted                                 ? 2
                       : kVectors == 16                                            ? 2
                                                                                   : 3;
    const int most = MostResidentBlocks(BlockThreads(access));
    return wanted < most ? wanted : most;
  }
};

/// That of a warp which is a block of its own, for misaligned rows, and plain ones where AreOfPlainWarp: what a row
/// takes besides its elements is done once, and few of a thread's vectors are empty.
template <int kVectorsOfThread>
struct RowShapeOfWarp : RowShape<BlockGroup, kVectorsOfThread, false> {
  static constexpr bool kOfWarp = true;
  static constexpr int BlockThreads(RowAccess /*access*/) { return 32; }
  /// As many as have the registers for what they hold, and for what moves it, on compute capability 9.0.
  static constexpr int ResidentBlocks(RowAccess access, int /*threads_of_lanes*/ = 0) {
    const int wanted = InVectors(access) ? 20 : kVectorsOfThread <= 6 ? 24 : 16;
    constexpr int kMost = MostResidentBlocks(32);
    return wanted < kMost ? wanted : kMost;
  }
};

/// The same in words. `kFirst`: the first of a thread's words that may reach beyond a row's end. Of blocks: the most
/// threads of one, and how many of them a multiprocessor has at a time.
template <typename GroupType, int kWords, int kFirst, int kMostThreads = BlockThreadsOfWords(GroupType::kLanes, kWords),
          int kAtATime = 0>
struct RowShapeOfWords {
  using Group = GroupType;
  using InRegisters = RowShapeOfWords;  // the same shares there
  static constexpr bool kOfWords = true;
  static constexpr bool kWholeBlocks = true;
  static constexpr bool kInShared = false;
  static constexpr int kBytes = 4 * kWords;
  static constexpr bool kOfBlocks = std::is_same_v<GroupType, BlockGroup>;
  static constexpr bool kOfThreads = std::is_same_v<GroupType, LaneGroup<1>>;
  static constexpr int kFirstThatEnds = kFirst;
  static constexpr bool kLooksAhead = false;
  static constexpr bool kStaged = false;
  static constexpr bool kReadsMuch = false;
  static constexpr bool kStays = false;
  static constexpr bool kOfPlainRows = false;

  template <typename T, RowAccess kAccess, int kInputs>
  using Held = std::conditional_t<
      kOfThreads, RowOfThread<T, kWords, kFirst, kAccess == RowAccess::kTiled>,
      std::conditional_t<kAccess == RowAccess::kTiled, TiledWords<T, kWords, kFirst>, RowWords<T, kWords, kFirst>>>;

  static constexpr int BlockThreads(RowAccess access) {
    return !kOfThreads && access == RowAccess::kTiled ? kBlockThreadsOfTiledWords : kMostThreads;
  }
  /// Of a multiprocessor. `kMore`: of operators that have more to remember than one row; so have groups that do not
  /// come along with the others of their warp.
  template <bool kMore>
  static constexpr int kThreadsOfLanes = kOfBlocks                            ? kMostThreads* kAtATime
                                         : kOfThreads                         ? 1024
                                         : kWords <= 5                        ? (kMore ? 1536 : 2048)
                                         : kWords <= 10                       ? (kMore ? 1152 : 1536)
                                         : kWords == 16 && Group::kLanes < 32 ? (kMore ? 768 : 896)
                                         : kWords <= 18                       ? 1024
                                         : kWords <= 24                       ? (kMore ? 768 : 1024)
                                         : kWords <= 32                       ? (kMore ? 640 : 768)
                                                                              : (kMore ? 512 : 640);
  /// Where lanes of a warp have several rows, launches that are not the usual ones have more to remember, too.
  static constexpr int ResidentBlocks(RowAccess access, int threads_of_lanes = kThreadsOfLanes<false>) {
    const bool has_more = !kOfBlocks && Group::kLanes < 32 && access != RowAccess::kOdd;
    const int threads = has_more ? threads_of_lanes / 8 * 7 : threads_of_lanes;
    const int wanted = threads > BlockThreads(access) ? threads / BlockThreads(access) : 1;
    const int most = MostResidentBlocks(BlockThreads(access));
    return wanted < most ? wanted : most;
  }
};

/// Any of blocks in vectors, for clusters that stay (row_tickets.cuh).
template <typename Shape>
struct StayingShape : Shape {
  static constexpr bool kStays = true;
};

/// That of threads with 16 vectors of a row each, whose next one is on its way to shared memory: of clusters that stay.
struct StagedShape : StayingShape<RowShape<BlockGroup, 16, true, true>> {
  static constexpr bool kStaged = true;
  template <typename T, RowAccess kAccess, int kInputs>
  using Held = StagedRow<RowShape<BlockGroup, 16, true, true>::Held<T, kAccess, kInputs>>;
};

/// The same of a shape of blocks in words.
template <typename Shape>
struct StagedWordShape : StayingShape<Shape> {
  static constexpr bool kLooksAhead = true;
  static constexpr bool kStaged = true;
  template <typename T, RowAccess kAccess, int kInputs>
  using Held = StagedRow<typename Shape::template Held<T, kAccess, kInputs>>;
};

/// That of blocks that hold their shares in shared memory.
template <int kWords, int kMostThreads, int kAtATime>
struct RowShapeInShared : RowShapeOfWords<BlockGroup, kWords, 0, kMostThreads, kAtATime> {
  static constexpr bool kInShared = true;
  /// For clusters that stay.
  using InRegisters = RowShapeOfWords<BlockGroup, kWords, 0, kMostThreads, 2>;

  template <typename T, RowAccess kAccess, int kInputs>
  using Held = RowInShared<T, kWords>;
};

/// The same of rows of whole vectors, which begin anywhere.
template <int kVectorsOfThread, int kAtATime>
struct RowShapeOfVectorsInShared : RowShapeInShared<4 * kVectorsOfThread, kThreadsOfVectorsInShared, kAtATime> {
  static constexpr bool kWholeBlocks = false;
};
template <typename Shape>
inline constexpr bool kSumsVectors = Shape::kInShared && !Shape::kWholeBlocks;

/// What a row's reductions read of what is held of it: all that is, or a share in vectors.
template <typename Shape, typename Held>
using SummedRow =
    std::conditional_t<kSumsVectors<Shape>,
                       ShareInVectors<typename Held::Element, Held::kHeld / kElementsOfGranule<typename Held::Element>>,
                       Held>;

/// Calls f with that, of the row `x` that `loads` have.
template <typename Shape, typename Group, typename Loads, typename Row, typename F>
__device__ __forceinline__ auto WithSummed(const Group& group, Loads& loads, const Row& row, const F& f) {
  if constexpr (kSumsVectors<Shape>) {
    auto share = loads.InVectors(group, row);
    return f(share);
  } else {
    return f(loads.x);
  }
}

/// Calls f with the shape of rows that kLanes lanes share.
template <int kLanes, typename F>
cudaError_t WithLaneShape(int vectors, F&& f) {
  return vectors == 3 ? f(RowShape<LaneGroup<kLanes>, 3, false>{}) : f(RowShape<LaneGroup<kLanes>, 4, false>{});
}

/// Calls f with the shape of rows of elements of so many bytes that lanes share in words, the first from the kShape-th
/// on that is so.
template <int kElementBytes, int kShape, typename F>
cudaError_t WithWordShape(const RowTuning& tuning, F&& f) {
  constexpr const WordShapes& kShapes = WordShapesOf(kElementBytes);
  constexpr WordShape kIts = kShapes.by_length[kShape];
  if constexpr (kShape + 1 < kShapes.count) {
    if (tuning.threads != kIts.lanes || tuning.vectors != kIts.words) {
      return WithWordShape<kElementBytes, kShape + 1>(tuning, f);
    }
  }
  return f(RowShapeOfWords<LaneGroup<kIts.lanes>, kIts.words, FirstWordThatEnds(kShapes, kShape)>{});
}

/// The same of blocks, with the first shape from WordsOfBlocks(kWork).by_words[kIndex] on that has so many words and at
/// least so many threads.
template <RowWork kWork, int kElementBytes, int kIndex, typename F>
cudaError_t WithWordsOfBlocks(const RowTuning& tuning, F&& f) {
  constexpr BlockWords kIts = WordsOfBlocks(kWork).by_words[kIndex];
  if constexpr (kIndex + 1 < CountOfWords(kWork, kElementBytes)) {
    if (tuning.vectors != kIts.words || tuning.threads > kIts.threads) {
      return WithWordsOfBlocks<kWork, kElementBytes, kIndex + 1>(tuning, f);
    }
  }
  return f(RowShapeOfWords<BlockGroup, kIts.words, 0, kIts.threads, kIts.at_a_time>{});
}

/// Those in shared memory, with the first of kSharesInShared from kIndex on that has so many words.
template <int kIndex, typename F>
cudaError_t WithShareInShared(const RowTuning& tuning, F&& f) {
  constexpr BlockWords kIts = kSharesInShared[kIndex];
  if constexpr (kIndex == 0) {
    if (tuning.vectors != kIts.words) {
      return WithShareInShared<1>(tuning, f);
    }
  }
  return f(RowShapeInShared<kIts.words, kIts.threads, kIts.at_a_time>{});
}

/// The same of whole vectors, of which a thread has 8, or 16 if kMost are as many. Two inputs, which have no more than
/// 8, leave room for three blocks at a time; so does what the longest rows take.
template <int kMost, typename F>
cudaError_t WithVectorsInShared(int vectors, F&& f) {
  if constexpr (kMost > 8) {
    if (vectors > 8) {
      return f(RowShapeOfVectorsInShared<16, 3>{});
    }
  }
  return f(RowShapeOfVectorsInShared<8, (kMost > 8 ? 4 : 3)>{});
}

/// Those of a warp, with the first of kVectorsOfWarp from kIndex on that is so many.
template <int kIndex, typename F>
cudaError_t WithWarpShape(int vectors, F&& f) {
  constexpr int kIts = kVectorsOfWarp[kIndex];
  if constexpr (kIndex + 1 < sizeof(kVectorsOfWarp) / sizeof(kIts)) {
    if (vectors != kIts) {
      return WithWarpShape<kIndex + 1>(vectors, f);
    }
  }
  return f(RowShapeOfWarp<kIts>{});
}

template <RowWork kWork, int kElementBytes, typename F>
cudaError_t WithBlockShape(const RowTuning& tuning, F&& f) {
  constexpr int kMostInShared = MostVectorsInShared(kWork, kElementBytes);
  if constexpr (kMostInShared > 0) {
    if (tuning.in_shared) {
      return WithVectorsInShared<kMostInShared>(tuning.vectors, f);
    }
  }
  if constexpr (HasStagedClusters(kWork, kElementBytes)) {
    if (tuning.vectors == 16 && tuning.looks_ahead) {
      return f(StagedShape{});
    }
  }
  if constexpr (kWork == RowWork::kTwoInputs) {
    if (tuning.vectors == 16) {
      return f(RowShape<BlockGroup, 16, false, true>{});
    }
  }
  if constexpr (kWork != RowWork::kTwoInputs && kElementBytes <= 4) {
    if (AreOfWarp(tuning.vectors)) {
      return WithWarpShape<0>(tuning.vectors, f);
    }
  }
  if (tuning.vectors == 4) {
    return tuning.reads_much ? f(RowShape<BlockGroup, 4, false, true>{}) : f(RowShape<BlockGroup, 4, false>{});
  }
  // Hardly ever for little.
  return tuning.roomy ? f(RowShape<BlockGroup, 8, true, true>{}) : f(RowShape<BlockGroup, 8, false, true>{});
}

/// Calls f with the shape that `tuning` asks for, for elements of so many bytes. Requires: a tuning of TuneRows that
/// holds rows, for work of this kind.
template <RowWork kWork, int kElementBytes, typename F>
cudaError_t WithRowShape(const RowTuning& tuning, F&& f) {
  const bool of_blocks = tuning.method == RowTuning::Method::kBlocks;
  if constexpr (kElementBytes <= 4) {
    if (tuning.vector_bytes == 4) {
      if constexpr (!AreNorms(kWork) && kElementBytes == 4) {
        if (tuning.in_shared) {
          return WithShareInShared<0>(tuning, f);
        }
      }
      if (of_blocks) {
        return WithWordsOfBlocks<kWork, kElementBytes, WordsInUse(kWork, kElementBytes).first>(tuning, f);
      }
      return WithWordShape<kElementBytes, 0>(tuning, f);
    }
  }
  if (of_blocks) {
    return WithBlockShape<kWork, kElementBytes>(tuning, f);
  }
  switch (tuning.threads) {
    case 2:
      if constexpr (kElementBytes <= 4) {
        return tuning.vectors == 2 ? f(RowShape<LaneGroup<2>, 2, false>{}) : WithLaneShape<2>(tuning.vectors, f);
      }
      return cudaErrorNotSupported;  // never asked for
    case 4:
      return tuning.vectors == 2 ? f(RowShape<LaneGroup<4>, 2, false>{}) : WithLaneShape<4>(tuning.vectors, f);
    case 8:
      return WithLaneShape<8>(tuning.vectors, f);
    case 16:
      return WithLaneShape<16>(tuning.vectors, f);
    default:
      return WithLaneShape<32>(tuning.vectors, f);
  }
}

/// What a thread of `Shape` holds of a row, of kInputs that are read for each result.
template <typename T, typename Shape, RowAccess kAccess, int kInputs>
using HeldRow = typename Shape::template Held<T, kAccess, kInputs>;

template <RowAccess kAccess>
using AccessTag = std::integral_constant<RowAccess, kAccess>;

/// The places of an operator's kernels, which read kInputs rows for each result.
template <typename T, typename Shape, RowAccess kAccess, int kInputs>
using HeldSpace = std::conditional_t<
    Shape::kInShared, ShareSpace<HeldRow<T, Shape, kAccess, kInputs>, kInputs>,
    std::conditional_t<
        kInTile<kAccess>, RowTile<T, Shape, kInputs>,
        std::conditional_t<Shape::kStaged, StagedSpace<HeldRow<T, Shape, kAccess, kInputs>, kInputs>,
                           RowSpace<HeldRow<T, Shape, kAccess, kInputs>, typename Shape::Group, kInputs>>>>;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHAPES_CUH_
