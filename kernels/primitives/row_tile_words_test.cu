// Rows of 2-byte elements in a tile, by themselves: lanes have every element in its place and the fill beyond, and a
// block's rows come back where they are to lie, and nothing else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_launch.cuh"
#include "kernels/primitives/row_passing_test.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tile.cuh"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {
namespace {

using Element = __nv_bfloat16;
using Bits = testing::BitsOf<Element>;

/// Rows go from `in` to `out` through tiles, each element but for its last bit. Behind them `out` has a place that
/// stays zero if what is held is what should be.
template <typename Shape>
struct PassThroughTiles {
  using In = Bits;
  using Out = Bits;
  using Held = typename Shape::template Held<Element, RowAccess::kTiled, 1>;
  int rows;
  int width;

  __device__ void operator()(const In* in, Out* out) const {
    typename Shape::Group group;
    const RowTile<Element, Shape, 1> tile;
    const auto row_at = [&](std::int64_t index) -> RowAndResult<Element, Element> {
      return {{reinterpret_cast<const Element*>(in) + index * width, width, false, false},
              reinterpret_cast<Element*>(out) + index * width};
    };
    ForEachRow<false, RowAccess::kTiled>(
        group, NoTickets{}, RowTuning{}, rows, row_at, tile, RowLoads<Held, FillMinusInfinity>(tile.In(0)),
        [&](const auto& row, const auto& loads, const auto& /*again*/) {
          if (!HoldsElements(group, loads.x, reinterpret_cast<const In*>(row.x.data))) {
            out[rows * width] = 1;
          }
          Held::Store(group, row.y, width, tile.Out(),
                      [&](int v, int /*index*/) { return Word{loads.x.vectors[v].words[0] ^ 0x00010001U}; });
        });
  }

  __device__ bool HoldsElements(const typename Shape::Group& group, const Held& held, const In* elements) const {
    constexpr In kFill = 0xFF80;  // -inf
    bool as_expected = true;
    for (int v = 0; v < Held::kVectors; ++v) {
      for (int j = 0; j < 2; ++j) {
        const int index = Held::IndexOf(group, v) + j;
        const auto found = static_cast<In>(held.vectors[v].words[0] >> 16 * j);
        as_expected = as_expected && found == (index < width ? elements[index] : kFill);
      }
    }
    return as_expected;
  }
};

/// The shapes that have a tile, from the kShape-th on: the shortest row that is theirs, the longest, and some between,
/// in full blocks and in one that is not, whose last chunk has some of its rows or none.
template <int kShape, typename Run>
void ExpectRowsPassThroughTiles(const Run& run) {
  constexpr const WordShapes& kShapes = WordShapesOf(2);
  constexpr WordShape kIts = kShapes.by_length[kShape];
  if constexpr (HasTileOfWords(RowWork::kOneSum, 2, kIts.lanes, kIts.words)) {
    using Shape = RowShapeOfWords<LaneGroup<kIts.lanes>, kIts.words, FirstWordThatEnds(kShapes, kShape)>;
    using Tile = RowTile<Element, Shape, 1>;
    const int before = kShapes.by_length[kShape - 1].Words() * 2;
    const int most = kIts.Words() * 2;
    for (const int width : {before + 1, before + 2, (before + most) / 2 | 1, most - 1, most}) {
      for (const int rows : {2 * Tile::kRows, 2 * Tile::kRows - 1, Tile::kRows + 9, Tile::kRows + 5, 1}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows of " << width << " elements, " << kIts.lanes << " lanes");
        LaunchShape shape;
        shape.blocks = (rows + Tile::kRows - 1) / Tile::kRows;
        shape.threads = Tile::kThreads;
        shape.shared_bytes = Tile::BytesOfBlock(shape.threads);
        const auto count = static_cast<std::size_t>(rows * width);
        const std::vector<Bits> in = testing::Numbered<Bits>(rows * width);
        const std::vector<Bits> out = run(PassThroughTiles<Shape>{rows, width}, in, count + 1, shape);
        EXPECT_EQ(out[count], 0) << "what is held";
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(out[i], in[i] ^ 1U) << "element " << i;
        }
      }
    }
  }
  if constexpr (kShape + 1 < kShapes.count) {
    ExpectRowsPassThroughTiles<kShape + 1>(run);
  }
}

class RowTileWordsTest : public testing::DeviceBodyTest {};

TEST_F(RowTileWordsTest, LanesHoldRowsOfATileAndWriteThem) {
  ExpectRowsPassThroughTiles<0>([this](const auto& body, const auto& in, std::size_t outs, const LaunchShape& shape) {
    return Run(body, in, outs, shape);
  });
}

}  // namespace
}  // namespace kernelwire
