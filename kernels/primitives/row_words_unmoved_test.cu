// Rows in words that stay as memory has them, by themselves: what lanes have makes the same sums as in RowWords, to the
// bit, once it has been brought home, and is written where it came from and nowhere else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_passing_test.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_staged.cuh"
#include "kernels/primitives/row_vectors.cuh"
#include "kernels/primitives/row_words.cuh"
#include "kernels/primitives/row_words_unmoved.cuh"

namespace kernelwire {
namespace {

constexpr int kWords = 20;

/// What a thread has of a row, as a row's reduction adds it up. Elements are so that each order of additions rounds
/// otherwise; a fill is zero.
template <typename Held>
__device__ __forceinline__ void Add(const Held& held, float (&sums)[4]) {
  for (int v = 0; v < Held::kVectors; ++v) {
    for (int j = 0; j < 2; ++j) {
      const unsigned bits = held.vectors[v].words[0] >> (16 * j) & 0xFFFFU;
      sums[(2 * v + j) % 4] += static_cast<float>(bits) * 0.37F;
    }
  }
}

/// A block has the rows of a tensor that begins with element `begin`, one after another; they go to where they come
/// from, in `out`.
struct PassUnmoved {
  using In = unsigned short;
  using Out = unsigned short;
  using T = __nv_bfloat16;
  using Shape = RowShapeOfWords<BlockGroup, kWords, 0, 96, 1>;
  int rows;
  int width;
  int begin;
  int outs;  // behind these, a place that stays zero if sums are what they should be

  __device__ void operator()(const In* in, Out* out) const {
    const BlockGroup group(1);
    const HeldSpace<T, StagedWordShape<Shape>, RowAccess::kOdd, 1> space;
    StagedRow<UnmovedWords<T, kWords, 0>> held;
    for (int row = 0; row < rows; ++row) {
      const int first = begin + row * width;
      const RowSource<T> source{reinterpret_cast<const T*>(in) + first, width, row > 0, row + 1 < rows};
      held.Begin<FillZero>(group, source, space.In(0));
      held.Take<FillZero>(group, source, space.In(0));
      held.Finish<FillZero>(group, source, space.In(0));
      float sums[4] = {};
      Add(held, sums);
      held.BringHome(sums);
      Shape::Held<T, RowAccess::kOdd, 1> moved;
      moved.Begin<FillZero>(group, source, nullptr);
      moved.Finish<FillZero>(group, source, nullptr);
      float expected[4] = {};
      Add(moved, expected);
      for (int i = 0; i < 4; ++i) {
        if (sums[i] != expected[i]) {
          out[outs] = 1;
        }
      }
      held.Store(group, reinterpret_cast<T*>(out) + first, width, space.Out(),
                 [&](int v, int /*index*/) { return held.vectors[v]; });
    }
  }
};

class RowWordsUnmovedTest : public testing::DeviceBodyTest {
 protected:
  void SetUp() override {
    DeviceBodyTest::SetUp();
    if (!IsSkipped() && !DeviceHasClusters()) {
      GTEST_SKIP() << "needs compute capability 9.0";
    }
  }
};

// A warp has 1280 elements, and a row that begins in the middle of a word one that lies behind its words.
TEST_F(RowWordsUnmovedTest, RowsHaveTheSumsOfMovedOnesAndStayWhereTheyAre) {
  constexpr int kRows = 3;
  LaunchShape shape;
  shape.blocks = 1;
  shape.threads = 96;
  shape.shared_bytes =
      HeldSpace<PassUnmoved::T, StagedWordShape<PassUnmoved::Shape>, RowAccess::kOdd, 1>::BytesOfBlock(shape.threads);
  for (const int width : {1, 2, 63, 64, 65, 1279, 1280, 1281, 2559, 2560, 2561, 2600, 3001, 3838, 3839}) {
    for (int begin = 0; begin < 8; ++begin) {
      SCOPED_TRACE(::testing::Message() << "rows of " << width << " elements, from " << begin);
      const int count = begin + kRows * width;
      const int outs = (count + 7) / 8 * 8;
      const auto in = testing::Numbered<unsigned short>(outs);
      const auto out = Run(PassUnmoved{kRows, width, begin, outs}, in, static_cast<std::size_t>(outs) + 1, shape);
      EXPECT_EQ(out.back(), 0) << "sums";
      for (int i = 0; i < outs; ++i) {
        const bool written = i >= begin && i < count;
        ASSERT_EQ(out[static_cast<std::size_t>(i)], written ? in[static_cast<std::size_t>(i)] : 0) << "place " << i;
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire
