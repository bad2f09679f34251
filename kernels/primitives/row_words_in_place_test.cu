// Rows of 2-byte elements in words as memory has them, by themselves: deviations of each lane are those of the same row
// in words of its own, to the bit, and every element goes where it is to lie, and nothing else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_keeping.h"
#include "kernels/primitives/row_moments.cuh"
#include "kernels/primitives/row_passing_test.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_staged.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_words_in_place.cuh"

namespace kernelwire {
namespace {

using Element = __nv_bfloat16;
using Bits = testing::BitsOf<Element>;

/// Rows of a tensor that begins with element `begin` of `in` go to the same place of `out`, each element but for its
/// last bit. Behind them `out` has a place that stays zero if deviations are what they should be. A block has one, or a
/// warp's lanes have some that begin alike. `kStaged`: a block's come by shared memory.
template <typename Shape, bool kStaged>
struct PassInPlace {
  using In = Bits;
  using Out = Bits;
  using Group = typename Shape::Group;
  using Moved = RowWords<Element, Shape::kBytes / 4, Shape::kFirstThatEnds>;
  using Kept = WordsInPlace<Element, Group, Shape::kBytes / 4, Shape::kFirstThatEnds>;
  int rows;
  int width;
  int begin;

  __device__ void operator()(const In* in, Out* out) const {
    constexpr int kLanes = Group::kLanes;
    Group group = testing::GroupOf(static_cast<Group*>(nullptr));
    if constexpr (!Shape::kOfBlocks) {
      group.Begin(true);
    }
    const auto row = static_cast<int>(blockIdx.x + (Shape::kOfBlocks ? 0 : threadIdx.x / kLanes * gridDim.x));
    const int first = begin + row * width;
    const auto* const x = reinterpret_cast<const Element*>(in) + first;
    const typename Kept::Span span(width, first % 2);
    Kept kept = {};
    if constexpr (kStaged) {
      Take(kept, span, x + (width - span.LeftOfWarp()), row + 1 == rows);
    } else {
      kept.Load(span, x + span.FirstElement(width), row + 1 == rows);
    }
    constexpr float kMean = 0.3F;
    const Deviations<float> found = kept.DeviationsFrom(group, span, kMean);
    const Deviations<float> expected = ExpectedFrom(group, x, row, kMean);
    if (__float_as_int(found.sum) != __float_as_int(expected.sum) ||
        __float_as_int(found.squares) != __float_as_int(expected.squares)) {
      out[begin + rows * width] = 1;
    }
    Kept::Store(span, reinterpret_cast<Element*>(out) + first + span.FirstElement(width), width,
                [&](int v) { return Word{kept.words[v].words[0] ^ 0x00010001U}; });
  }

  __device__ static void Take(Kept& kept, const typename Kept::Span& span, const Element* from, bool is_last) {
    using Staged = StagedSpan<Kept::kMostGranulesOfSpan>;
    extern __shared__ Granule granules_of_block[];
    Granule* const place = granules_of_block + threadIdx.x / 32 * Staged::kGranules;
    Staged::Open(place);
    Staged::Begin(place, [&] { return Kept::SpanOf(span, from, is_last); });
    __syncwarp();
    Staged::Await(place, 0);
    kept.TakeFrom(span, from, Staged::CopyAt(place, Kept::SpanOf(span, from, is_last)));
  }

  __device__ Deviations<float> ExpectedFrom(const Group& group, const Element* x, int row, float mean) const {
    Moved moved;
    const RowSource<Element> source{x, width, row > 0, row + 1 < rows};
    moved.template Begin<FillZero>(group, source, nullptr);
    moved.template Finish<FillZero>(group, source, nullptr);
    return DeviationsOf(group, moved, width, mean).of_stretch[0];
  }
};

class RowWordsInPlaceTest : public testing::DeviceBodyTest {
 protected:
  /// Rows of `width` elements, of which the first begins with a word, or in the middle of one.
  template <typename Shape, bool kStaged = false>
  void ExpectRowsPass(int width, unsigned threads) {
    using Pass = PassInPlace<Shape, kStaged>;
    constexpr int kRows = 4;
    for (const int begin : {0, 1}) {
      if (begin > width % 2) {
        continue;  // no rows of even widths do
      }
      SCOPED_TRACE(::testing::Message() << kRows << " rows of " << width << " elements from " << begin << ", "
                                        << Shape::kBytes / 4 << " words, " << threads << " threads");
      LaunchShape shape;
      shape.blocks = Shape::kOfBlocks ? kRows : kRows * Shape::Group::kLanes / 32;
      shape.threads = threads;
      if constexpr (kStaged) {
        using Staged = StagedSpan<Pass::Kept::kMostGranulesOfSpan>;
        shape.shared_bytes = std::size_t{threads} / 32 * Staged::kGranules * sizeof(Granule);
      }
      const auto count = static_cast<std::size_t>(begin + kRows * width);
      std::vector<Bits> in(count);  // nothing follows the last row
      for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<Bits>(0x3C00 + i * 7919 % 1024);  // from 1/128 to 2
      }
      const std::vector<Bits> out = Run(Pass{kRows, width, begin}, in, count + 1, shape);
      EXPECT_EQ(out[count], 0) << "deviations";
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(out[i], i < static_cast<std::size_t>(begin) ? 0U : in[i] ^ 1U) << "element " << i;
      }
    }
  }

  template <int kShape>
  void ExpectRowsOfLanesPass() {
    constexpr const WordShapes& kShapes = WordShapesOf(2);
    constexpr WordShape kIts = kShapes.by_length[kShape];
    if constexpr (HasKeptParameters(RowWork::kMoments, 2, kIts.lanes)) {
      using Shape = RowShapeOfWords<LaneGroup<kIts.lanes>, kIts.words, FirstWordThatEnds(kShapes, kShape)>;
      const int before = kShapes.by_length[kShape - 1].Words() * 2;
      const int most = kIts.Words() * 2;
      for (const int width : {before + 1, before + 2, (before + most) / 2 | 1, most - 1, most}) {
        ExpectRowsPass<Shape>(width, 32);
      }
    }
    if constexpr (kShape + 1 < kShapes.count) {
      ExpectRowsOfLanesPass<kShape + 1>();
    }
  }

  template <int kIndex, bool kStaged = false>
  void ExpectRowsOfBlocksPass() {
    constexpr const BlockWordShapes& kShapes = WordsOfBlocks(RowWork::kMoments);
    constexpr BlockWords kIts = kShapes.by_words[kIndex];
    using Shape = RowShapeOfWords<BlockGroup, kIts.words, 0, kIts.threads, kIts.at_a_time>;
    constexpr int kOfWarp = 64 * kIts.words;
    // The last warp has all of its words, or one element less, or half of a word, or nothing.
    for (const int width : {3 * kOfWarp, 3 * kOfWarp - 1, 2 * kOfWarp + 1, 2 * kOfWarp, 2 * kOfWarp - 1,
                            2 * kOfWarp + 333, 2 * kOfWarp + 64}) {
      ExpectRowsPass<Shape, kStaged>(width, 96);
    }
    if constexpr (kIndex + 1 < kShapes.count) {
      ExpectRowsOfBlocksPass<kIndex + 1, kStaged>();
    }
  }
};

TEST_F(RowWordsInPlaceTest, LanesSumRowsAsInWordsOfTheirOwnAndWriteThem) { ExpectRowsOfLanesPass<0>(); }

TEST_F(RowWordsInPlaceTest, BlocksSumRowsAsInWordsOfTheirOwnAndWriteThem) { ExpectRowsOfBlocksPass<0>(); }

TEST_F(RowWordsInPlaceTest, RowsOfBlocksComeBySharedMemory) {
  if (!DeviceHasClusters()) {
    GTEST_SKIP() << "needs compute capability 9.0";
  }
  ExpectRowsOfBlocksPass<0, true>();
}

}  // namespace
}  // namespace kernelwire
