// Rows that come by shared memory, one on its way while the one before is worked on, by themselves: each is held with
// every element in its place and the fill beyond, alone or combined with a second row, wherever it begins, and written
// wherever it is to lie, and nothing else.
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

/// A block has the rows of a tensor, or of two, one after another; they go to where element `to` of `out` is.
template <typename T, typename Shape, RowAccess kAccess, int kInputs>
struct StageRows : testing::RowsToCombine<T> {
  using Held = typename Shape::template Held<T, kAccess, kInputs>;
  using Bits = testing::BitsOf<T>;

  __device__ void operator()(const Bits* in, Bits* out) const {
    BlockGroup group(1);
    const HeldSpace<T, Shape, kAccess, kInputs> space;
    Held next;
    Held next_of_b;
    const auto ask = [&](int row) {
      next.template Begin<FillMinusInfinity>(group, this->RowAt(in + this->begin, row), space.In(0));
      if (kInputs == 2) {
        next_of_b.template Begin<FillMinusInfinity>(group, this->RowAt(in + this->begin_of_b, row), space.In(1));
      }
    };
    ask(0);
    for (int row = 0; row < this->rows; ++row) {
      const RowSource<T> source = this->RowAt(in + this->begin, row);
      Held held = next;
      held.template Take<FillMinusInfinity>(group, source, space.In(0));
      if (kInputs == 2) {
        next_of_b.TakeInto(held, group, this->RowAt(in + this->begin_of_b, row), space.In(1), testing::ExclusiveOr{});
      }
      if (row + 1 < this->rows) {
        ask(row + 1);
      }
      held.template Finish<FillMinusInfinity>(group, source, space.In(0));
      testing::Check(group, held, this->width, out + this->outs, this->template BitsAt<kInputs>(in, row));
      Held::Store(group, reinterpret_cast<T*>(out) + this->to + row * this->width, this->width, space.Out(),
                  [&](int v, int /*index*/, auto...) { return held.vectors[v]; });
    }
  }
};

class RowStagedTest : public testing::DeviceBodyTest {
 protected:
  void SetUp() override {
    DeviceBodyTest::SetUp();
    if (!IsSkipped() && !DeviceHasClusters()) {
      GTEST_SKIP() << "needs compute capability 9.0";
    }
  }

  /// Five rows of up to three warps, which begin at each of `places` elements.
  template <typename T, RowAccess kAccess, int kInputs, typename Shape = StagedShape>
  void ExpectStaged(int places, const std::vector<int>& widths) {
    constexpr int kOfGranule = kElementsOfGranule<T>;
    constexpr int kRows = 5;
    LaunchShape shape;
    shape.blocks = 1;
    shape.threads = 96;
    shape.shared_bytes = HeldSpace<T, Shape, kAccess, kInputs>::BytesOfBlock(shape.threads);
    for (const int width : widths) {
      for (int begin = 0; begin < places; ++begin) {
        const int to = places == 1 ? 0 : (3 * begin + 1) % kOfGranule;
        SCOPED_TRACE(::testing::Message() << "rows of " << width << " elements of " << sizeof(T) << " bytes, from "
                                          << begin << " to " << to);
        const int of_tensor = (begin + kRows * width + kOfGranule - 1) / kOfGranule * kOfGranule;
        const int outs = to + kRows * width + kOfGranule;
        // Nothing follows the last row, which is for compute-sanitizer to see.
        const auto in = testing::Numbered<testing::BitsOf<T>>((kInputs - 1) * of_tensor + begin + kRows * width);
        const auto out = Run(StageRows<T, Shape, kAccess, kInputs>{{kRows, width, begin, of_tensor + begin, to, outs}},
                             in, static_cast<std::size_t>(outs) + 1, shape);
        EXPECT_EQ(out.back(), 0) << "what is held";
        for (int i = 0; i < outs; ++i) {
          const auto at = static_cast<std::size_t>(begin + i - to);
          const bool written = i >= to && i < to + kRows * width;
          const auto first = written ? in[at] : testing::BitsOf<T>{0};
          const auto second =
              written && kInputs == 2 ? in[at + static_cast<std::size_t>(of_tensor)] : testing::BitsOf<T>{0};
          ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<testing::BitsOf<T>>(first ^ second)) << "place " << i;
        }
      }
    }
  }
};

// A warp has 4096 elements of 2 bytes, 2048 of 4.
TEST_F(RowStagedTest, RowsOnABoundaryAreHeld) {
  ExpectStaged<float, RowAccess::kDense, 1>(1, {4, 2048, 2052, 4096 - 4, 5000, 6144});
  ExpectStaged<__nv_bfloat16, RowAccess::kDense, 1>(1, {8, 4096, 4104, 10000, 12288});
}

TEST_F(RowStagedTest, MisalignedRowsAreHeld) {
  ExpectStaged<float, RowAccess::kMisaligned, 1>(8, {4, 2048, 2052, 4096 - 4, 5000, 6144});
  ExpectStaged<__nv_bfloat16, RowAccess::kMisaligned, 1>(16, {8, 4096, 4104, 10000, 12288});
}

TEST_F(RowStagedTest, OddRowsAreHeld) {
  ExpectStaged<float, RowAccess::kOdd, 1>(8, {1, 2049, 4097, 5003, 6143});
  ExpectStaged<__nv_bfloat16, RowAccess::kOdd, 1>(16, {1, 4097, 4105, 10003, 12287});
}

TEST_F(RowStagedTest, TwoRowsAreCombined) {
  ExpectStaged<float, RowAccess::kDense, 2>(1, {4, 2048, 2052, 5000, 6144});
  ExpectStaged<float, RowAccess::kMisaligned, 2>(8, {4, 2048, 2052, 5000, 6144});
  ExpectStaged<__nv_bfloat16, RowAccess::kOdd, 2>(16, {1, 4097, 10003, 12287});
}

// A warp has 2048 elements of 2 bytes, 1024 of 4.
TEST_F(RowStagedTest, RowsInEightVectorsAreHeldAndCombined) {
  using OfEight = StagedShapeOfEight<320, 0>;
  ExpectStaged<__nv_bfloat16, RowAccess::kDense, 1, OfEight>(1, {8, 2048, 2056, 4096 - 8, 5000, 6144});
  ExpectStaged<__nv_bfloat16, RowAccess::kMisaligned, 1, OfEight>(16, {8, 2048, 2056, 5000, 6144});
  ExpectStaged<float, RowAccess::kMisaligned, 1, OfEight>(8, {4, 1024, 1028, 2500, 3072});
  ExpectStaged<float, RowAccess::kMisaligned, 2, OfEight>(8, {4, 1024, 1028, 2500, 3072});
  ExpectStaged<__nv_bfloat16, RowAccess::kDense, 2, OfEight>(1, {8, 2048, 2056, 5000, 6144});
}

// A warp has 1280 elements of 2 bytes, 640 of 4, or 1152.
TEST_F(RowStagedTest, RowsInWordsAreHeldAndCombined) {
  using OfTwenty = StagedWordShape<RowShapeOfWords<BlockGroup, 20, 0, 96, 1>>;
  using OfThirtySix = StagedWordShape<RowShapeOfWords<BlockGroup, 36, 0, 96, 1>>;
  ExpectStaged<float, RowAccess::kOdd, 1, OfTwenty>(8, {1, 641, 1283, 1919});
  ExpectStaged<float, RowAccess::kOdd, 1, OfThirtySix>(8, {1, 1153, 2307, 3455});
  ExpectStaged<__nv_bfloat16, RowAccess::kOdd, 1, OfTwenty>(16, {1, 1281, 2563, 3839});
  ExpectStaged<float, RowAccess::kOdd, 2, OfTwenty>(8, {1, 641, 1283, 1919});
  ExpectStaged<__nv_bfloat16, RowAccess::kOdd, 2, OfTwenty>(16, {1, 1281, 2563, 3839});
}

}  // namespace
}  // namespace kernelwire
