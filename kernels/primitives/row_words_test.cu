// Rows in words, by themselves: each shape has every element in its place and the fill beyond, wherever rows begin, and
// writes them wherever they are to lie, and nothing else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_tuning.h"
#include "kernels/primitives/row_words.cuh"

namespace kernelwire {
namespace {

class RowWordsTest : public testing::DeviceBodyTest {};

/// The bits of an element.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 2, unsigned short, unsigned>;

template <int kLanes>
__device__ LaneGroup<kLanes> GroupOf(LaneGroup<kLanes>* /*tag*/) {
  return {};
}
__device__ BlockGroup GroupOf(BlockGroup* /*tag*/) { return BlockGroup(1); }

/// The rows of a tensor that begins with element `begin` of `in` go to where element `to` of `out` is. Behind all of
/// these `out` has a place that stays zero if registers hold what they should.
template <typename T, typename Shape>
struct PassRows {
  using Group = typename Shape::Group;
  using Held = typename Shape::template Held<T, RowAccess::kShifted>;
  using In = BitsOf<T>;
  using Out = BitsOf<T>;
  int rows;
  int width;
  int begin;
  int to;
  int ins;     // elements of `in`
  int outs;    // of `out`, before that place
  bool alone;  // lanes of other rows do not come along

  __device__ void operator()(const In* in, Out* out) const {
    const int row = Shape::kOfBlocks ? static_cast<int>(blockIdx.x) : static_cast<int>(threadIdx.x) / Group::kLanes;
    if (row >= rows) {
      return;
    }
    Group group = GroupOf(static_cast<Group*>(nullptr));
    if constexpr (!Shape::kOfBlocks) {
      constexpr int kRowsOfWarp = 32 / Group::kLanes;
      group.Begin(!alone && row / kRowsOfWarp * kRowsOfWarp + kRowsOfWarp <= rows);
    }
    const int first = begin + row * width;
    const RowSource<T> source{reinterpret_cast<const T*>(in) + first, width, row > 0, first + width < ins};
    Held held;
    held.template Begin<FillMinusInfinity>(group, source, nullptr);
    held.template Finish<FillMinusInfinity>(group, source, nullptr);
    const T fill = FillMinusInfinity::Value<T>();
    for (int v = 0; v < Held::kVectors; ++v) {
      for (int j = 0; j < Held::kLength; ++j) {
        const int index = Held::IndexOf(group, v) + j;
        In found = 0;
        memcpy(&found, reinterpret_cast<const char*>(&held.vectors[v]) + j * sizeof(T), sizeof(T));
        In expected = 0;
        memcpy(&expected, &fill, sizeof(T));
        if (found != (index < width ? in[first + index] : expected)) {
          out[outs] = 1;
        }
      }
    }
    Held::Store(group, reinterpret_cast<T*>(out) + to + row * width, width, nullptr,
                [&](int v, int /*index*/) { return held.vectors[v]; });
  }
};

/// Elements that are all unlike.
template <typename Bits>
std::vector<Bits> Numbered(int count) {
  std::vector<Bits> bits(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = static_cast<Bits>(i * 7919 + 1);
  }
  return bits;
}

/// Rows of a block of `threads` threads, or of a block each.
template <typename T, typename Shape, typename Run>
void ExpectRowsPass(const Run& run, int rows, int width, const LaunchShape& shape) {
  using Bits = BitsOf<T>;
  constexpr int kMostOff = sizeof(T) == 2 ? 2 : 1;
  for (int begin = 0; begin < kMostOff; ++begin) {
    for (int to = 0; to < kMostOff; ++to) {
      for (const bool alone : {false, true}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows of " << width << " elements of " << sizeof(T)
                                          << " bytes, from " << begin << " to " << to << (alone ? ", alone" : ""));
        const int count = rows * width;
        const int places = count + to + 1;
        const std::vector<Bits> in = Numbered<Bits>(begin + count);  // nothing follows the last row
        const auto out = run(PassRows<T, Shape>{rows, width, begin, to, begin + count, places, alone}, in,
                             static_cast<std::size_t>(places) + 1, shape);
        EXPECT_EQ(out[static_cast<std::size_t>(places)], 0) << "what registers hold";
        for (int i = 0; i < places; ++i) {
          const bool written = i >= to && i < to + count;
          ASSERT_EQ(out[static_cast<std::size_t>(i)], written ? in[static_cast<std::size_t>(i - to + begin)] : Bits{0})
              << "place " << i;
        }
      }
    }
  }
}

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
      ExpectRowsPass<T, Shape>(run, rows, width, shape);
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
  LaunchShape shape;
  shape.blocks = 3;
  shape.threads = 96;
  for (const int width :
       {kOfWarp + 1, 2 * kOfWarp + 1, 2 * kOfWarp + 2, 2 * kOfWarp + kOfWarp / 2 + 1, 3 * kOfWarp - 1, 3 * kOfWarp}) {
    ExpectRowsPass<T, Shape>(run, 3, width, shape);
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
