// Rows in words, by themselves: each shape has every element in its place and the fill beyond, wherever rows begin, and
// writes them wherever they are to lie, and nothing else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_passing_test.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {
namespace {

class RowWordsTest : public testing::DeviceBodyTest {};

/// Words begin on a boundary of their own, or of an element of 2 bytes.
template <typename T>
inline constexpr int kPlaces = 4 / static_cast<int>(sizeof(T));

/// The shapes of lanes from the kShape-th on: the shortest row that is theirs, the longest, and some between.
template <typename T, int kShape, typename Run>
void ExpectLanesPass(const Run& run) {
  constexpr int kSize = static_cast<int>(sizeof(T));
  constexpr const WordShapes& kShapes = WordShapesOf(kSize);
  constexpr WordShape kIts = kShapes.by_length[kShape];
  constexpr int kPerWord = 4 / kSize;
  using Shape = RowShapeOfWords<LaneGroup<kIts.lanes>, kIts.words, FirstWordThatEnds(kShapes, kShape)>;
  const int before = kShape == 0 ? 0 : kShapes.by_length[kShape == 0 ? 0 : kShape - 1].Words() * kPerWord;
  const int most = kIts.Words() * kPerWord;
  LaunchShape shape;
  shape.blocks = 1;
  shape.threads = 64;
  for (const int width : {before + 1, before + 2, (before + most) / 2, most - 1, most}) {
    for (const int rows : {64 / kIts.lanes, 64 / kIts.lanes - 1, 1}) {
      testing::ExpectRowsPass<T, Shape>(run, kPlaces<T>, rows, width, shape);
    }
  }
  if constexpr (kShape + 1 < kShapes.count) {
    ExpectLanesPass<T, kShape + 1>(run);
  }
}

/// A block each, of three warps: full ones, one that is not, and one that has nothing.
template <typename T, int kWords, typename Run>
void ExpectBlocksPass(const Run& run) {
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  using Shape = RowShapeOfWords<BlockGroup, kWords, 0, 96, 1>;
  constexpr int kOfWarp = 32 * kWords * kPerWord;
  constexpr int kEighth = 2 * kOfWarp + 32 * 8 * kPerWord;  // RowWords::Store asks there whether the row has ended
  LaunchShape shape;
  shape.blocks = 3;
  shape.threads = 96;
  for (const int width : {kOfWarp + 1, 2 * kOfWarp + 1, 2 * kOfWarp + 2, kEighth - 1, kEighth, kEighth + 1,
                          2 * kOfWarp + kOfWarp / 2 + 1, 3 * kOfWarp - 1, 3 * kOfWarp}) {
    testing::ExpectRowsPass<T, Shape>(run, kPlaces<T>, 3, width, shape);
  }
}

TEST_F(RowWordsTest, LanesHoldRowsOfFourByteElementsAndWriteThem) {
  ExpectLanesPass<float, 0>([this](const auto& body, const auto& in, std::size_t outs, const LaunchShape& shape) {
    return Run(body, in, outs, shape);
  });
}

TEST_F(RowWordsTest, LanesHoldRowsOfTwoByteElementsAndWriteThem) {
  ExpectLanesPass<__nv_bfloat16, 0>([this](const auto& body, const auto& in, std::size_t outs,
                                           const LaunchShape& shape) { return Run(body, in, outs, shape); });
}

TEST_F(RowWordsTest, BlocksHoldRowsAndWriteThem) {
  const auto run = [this](const auto& body, const auto& in, std::size_t outs, const LaunchShape& shape) {
    return Run(body, in, outs, shape);
  };
  ExpectBlocksPass<float, 12>(run);
  ExpectBlocksPass<float, 32>(run);
  ExpectBlocksPass<__nv_bfloat16, 12>(run);
  ExpectBlocksPass<__nv_bfloat16, 20>(run);
  ExpectBlocksPass<__nv_bfloat16, 28>(run);
  ExpectBlocksPass<__nv_bfloat16, 32>(run);
}

}  // namespace
}  // namespace kernelwire
