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
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_of_thread.cuh"
#include "kernels/primitives/row_shifted.cuh"
#include "kernels/primitives/row_space.cuh"
#include "kernels/primitives/row_staged.cuh"
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
  static constexpr int kBytesOfWeights = 0;  // in registers, of a thread of blocks that keep parameters
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
  static constexpr int kBytesOfWeights = HaveWeightsInRegisters(kWords) ? kBytes : 0;
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

/// The same in blocks so small that registers have room for the weights of layer_norm, too.
struct StagedShapeBesideWeights : StagedShape {
  static constexpr int kBytesOfWeights = kBytes;
  static constexpr int BlockThreads(RowAccess /*access*/) { return kMostThreadsBesideWeights; }
  static constexpr int ResidentBlocks(RowAccess /*access*/) { return 2; }
};

/// The same with 8 vectors, in blocks of up to so many threads, of which a multiprocessor has two; with weights of so
/// many of them in registers.
template <int kMostThreads, int kVectorsOfWeights>
struct StagedShapeOfEight : StayingShape<RowShape<BlockGroup, 8, true, true>> {
  static constexpr bool kStaged = true;
  static constexpr int kBytesOfWeights = 16 * kVectorsOfWeights;
  template <typename T, RowAccess kAccess, int kInputs>
  using Held = StagedRow<RowShape<BlockGroup, 8, true, true>::Held<T, kAccess, kInputs>>;
  static constexpr int BlockThreads(RowAccess /*access*/) { return kMostThreads; }
  static constexpr int ResidentBlocks(RowAccess /*access*/, int /*threads_of_lanes*/ = 0) { return 2; }
};

/// What StagedShape is to others in vectors, of a shape of blocks in words.
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
