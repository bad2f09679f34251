// Which shape (row_shapes.cuh) a tuning asks for: the one place where kernels for held rows are chosen.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHAPE_CHOICE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHAPE_CHOICE_CUH_

#include <cuda_runtime.h>

#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_staying.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

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

/// Those of threads with 8 vectors whose next row is on its way to shared memory (HasStagedClustersOfEight). Of
/// layer_norm shared memory has room for 20 warps where registers have some weights; smaller blocks of FP32 rows, which
/// are moved, want the registers of 16.
template <RowWork kWork, int kElementBytes, typename F>
cudaError_t WithStagedEight(int threads, F&& f) {
  if constexpr (kWork == RowWork::kMoments) {
    if constexpr (kElementBytes == 4) {
      if (threads <= 256) {
        return f(StagedShapeOfEight<256, 0>{});
      }
    }
    return f(StagedShapeOfEight<kThreadsOfStagedEight, 3>{});
  } else {
    if constexpr (kWork != RowWork::kTwoInputs || kElementBytes == 4) {
      if (threads <= kThreadsOfStagedEight) {
        return f(StagedShapeOfEight<kThreadsOfStagedEight, 0>{});
      }
    }
    if constexpr (kElementBytes == 2) {
      return f(StagedShapeOfEight<kMostThreadsOfStagedEight, 0>{});
    }
    return cudaErrorNotSupported;  // never asked for
  }
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
      if constexpr (kWork == RowWork::kMoments) {
        if (tuning.threads <= kMostThreadsBesideWeights) {
          return f(StagedShapeBesideWeights{});
        }
      }
      return f(StagedShape{});
    }
  }
  if constexpr (HasStagedClustersOfEight(kWork, kElementBytes)) {
    if (tuning.vectors == 8 && tuning.looks_ahead && !tuning.roomy) {
      return WithStagedEight<kWork, kElementBytes>(tuning.threads, f);
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

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHAPE_CHOICE_CUH_
