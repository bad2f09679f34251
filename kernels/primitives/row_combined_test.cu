// Two rows that become one before they are moved, by themselves: every element is combine(a, b) in its place, with the
// fill beyond, and what is written as it lies is what is held, and nothing else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_passing_test.cuh"
#include "kernels/primitives/row_shapes.cuh"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {
namespace {

/// The rows of two tensors, which begin as far behind a granule as each other. `kInTurn`: the second is read when the
/// first is there. `out` has them combined where they lie in `in`, and again, moved, from `to` on.
template <typename T, typename Shape, RowAccess kAccess, bool kInTurn>
struct CombineRows : testing::RowsToCombine<T> {
  using Held = typename Shape::template Held<T, kAccess, 2>;
  using Bits = testing::BitsOf<T>;

  __device__ void operator()(const Bits* in, Bits* out) const {
    BlockGroup group(1);
    for (int row = static_cast<int>(blockIdx.x); row < this->rows; row += static_cast<int>(gridDim.x)) {
      const RowSource<T> a = this->RowAt(in + this->begin, row);
      const RowSource<T> b = this->RowAt(in + this->begin_of_b, row);
      Held held;
      held.template Begin<FillMinusInfinity>(group, a, nullptr);
      if constexpr (kInTurn) {
        held.CombineAsItComes(group, b, testing::ExclusiveOr{});
      } else {
        Held other;
        other.template Begin<FillMinusInfinity>(group, b, nullptr);
        held.CombineAsTheyLie(other, testing::ExclusiveOr{});
      }
      T* const first = reinterpret_cast<T*>(out) + row * this->width;
      held.StoreAsItLies(group, a, first + this->begin);
      held.template Finish<FillMinusInfinity>(group, a, nullptr);
      testing::Check(group, held, this->width, out + this->outs, this->template BitsAt<2>(in, row));
      Held::Store(group, first + this->to, this->width, nullptr,
                  [&](int v, int /*index*/, auto...) { return held.vectors[v]; });
    }
  }
};

class RowCombinedTest : public testing::DeviceBodyTest {
 protected:
  /// Rows of three warps, or so many of these, from each place behind a granule to some.
  template <typename T, typename Shape, RowAccess kAccess, bool kInTurn>
  void ExpectCombined(const std::vector<int>& widths) {
    constexpr int kOfGranule = kElementsOfGranule<T>;
    constexpr int kRows = 3;
    LaunchShape shape;
    shape.blocks = 2;
    shape.threads = 96;
    for (const int width : widths) {
      for (int begin = 0; begin < kOfGranule; ++begin) {
        for (const int to : {0, 1, 3}) {
          SCOPED_TRACE(::testing::Message() << "rows of " << width << " elements of " << sizeof(T) << " bytes, from "
                                            << begin << " to " << to);
          const int of_tensor = (begin + kRows * width + kOfGranule - 1) / kOfGranule * kOfGranule;
          const int outs = of_tensor + to + kRows * width;
          const auto in = testing::Numbered<testing::BitsOf<T>>(2 * of_tensor);
          const auto out = Run(
              CombineRows<T, Shape, kAccess, kInTurn>{{kRows, width, begin, of_tensor + begin, of_tensor + to, outs}},
              in, static_cast<std::size_t>(outs) + 1, shape);
          ExpectOnly(in, out, kRows * width, begin, of_tensor, to);
        }
      }
    }
  }

  template <typename Bits>
  static void ExpectOnly(const std::vector<Bits>& in, const std::vector<Bits>& out, int count, int begin, int of_tensor,
                         int to) {
    EXPECT_EQ(out.back(), 0) << "what is held";
    for (int i = 0; i + 1 < static_cast<int>(out.size()); ++i) {
      const int element = i < of_tensor ? i - begin : i - of_tensor - to;
      const auto at = static_cast<std::size_t>(element + begin);
      const bool written = element >= 0 && element < count;
      const Bits expected =
          written ? static_cast<Bits>(in[at] ^ in[at + static_cast<std::size_t>(of_tensor)]) : Bits{0};
      ASSERT_EQ(out[static_cast<std::size_t>(i)], expected) << "place " << i;
    }
  }

  /// Widths of full warps, and of one that ends in its first and last lane, between vectors of `length` and amid one.
  static std::vector<int> WidthsOf(int of_warp, int length) {
    return {of_warp, of_warp + length, 2 * of_warp - length, 3 * of_warp};
  }
  static std::vector<int> OddWidthsOf(int of_warp, int length) {
    return {of_warp + 1, of_warp + length + 1, 2 * of_warp + of_warp / 2 + 1, 3 * of_warp - 1};
  }
};

TEST_F(RowCombinedTest, MisalignedRowsAreCombinedAsTheyLie) {
  using Shape = RowShape<BlockGroup, 8, false, true>;
  ExpectCombined<__nv_bfloat16, Shape, RowAccess::kMisaligned, false>(WidthsOf(2048, 8));
  ExpectCombined<float, Shape, RowAccess::kMisaligned, false>(WidthsOf(1024, 4));
}

TEST_F(RowCombinedTest, OddRowsInVectorsAreCombinedAsTheyLie) {
  using Shape = RowShape<BlockGroup, 8, false, true>;
  ExpectCombined<__nv_bfloat16, Shape, RowAccess::kOdd, false>(OddWidthsOf(2048, 8));
  ExpectCombined<float, Shape, RowAccess::kOdd, false>(OddWidthsOf(1024, 4));
}

TEST_F(RowCombinedTest, TheSecondOfLongRowsIsCombinedAsItComes) {
  using Shape = RowShape<BlockGroup, 16, false, true>;
  ExpectCombined<__nv_bfloat16, Shape, RowAccess::kMisaligned, true>(WidthsOf(4096, 8));
  ExpectCombined<float, Shape, RowAccess::kMisaligned, true>(WidthsOf(2048, 4));
}

TEST_F(RowCombinedTest, WordsOfTwoByteElementsAreCombinedAsTheyLie) {
  ExpectCombined<__nv_bfloat16, RowShapeOfWords<BlockGroup, 12, 0, 96, 1>, RowAccess::kOdd, false>(OddWidthsOf(768, 2));
  ExpectCombined<__nv_bfloat16, RowShapeOfWords<BlockGroup, 20, 0, 96, 1>, RowAccess::kOdd, false>(
      OddWidthsOf(1280, 2));
}

}  // namespace
}  // namespace kernelwire
