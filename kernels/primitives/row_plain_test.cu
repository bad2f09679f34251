// Rows that begin on a boundary, in whole vectors, by themselves: every element is in its place and the fill beyond,
// and is written, and nothing else, whatever number of vectors a thread has.
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

class RowPlainTest : public testing::DeviceBodyTest {
 protected:
  /// Rows of up to `warps` warps: one vector, all but one, and those of a warp and one.
  template <typename T, typename Shape>
  void ExpectPass(int warps) {
    constexpr int kLength = kElementsOfGranule<T>;
    constexpr int kOfWarp = 32 * Shape::kVectors * kLength;
    LaunchShape shape;
    shape.blocks = 2;
    shape.threads = static_cast<unsigned>(32 * warps);
    for (const int width : {kLength, kOfWarp / 2 / kLength * kLength, kOfWarp - kLength, kOfWarp, kOfWarp + kLength,
                            warps * kOfWarp - kLength, warps * kOfWarp}) {
      if (width <= warps * kOfWarp) {
        testing::ExpectRowsPass<T, Shape, RowAccess::kDense>(
            [this](const auto& body, const auto& in, std::size_t outs, const LaunchShape& launch) {
              return Run(body, in, outs, launch);
            },
            1, 3, width, shape);
      }
    }
  }
  template <typename T>
  void ExpectWarpsPass() {
    ExpectPass<T, RowShapeOfWarp<5>>(1);
    ExpectPass<T, RowShapeOfWarp<6>>(1);
    ExpectPass<T, RowShapeOfWarp<10>>(1);
  }
  template <typename T>
  void ExpectBlocksPass() {
    ExpectPass<T, RowShape<BlockGroup, 4, false, true>>(3);
    ExpectPass<T, RowShape<BlockGroup, 8, true, true>>(3);
    ExpectPass<T, RowShape<BlockGroup, 16, false, true>>(3);
  }
};

TEST_F(RowPlainTest, WarpsHoldRowsAndWriteThem) {
  ExpectWarpsPass<__nv_bfloat16>();
  ExpectWarpsPass<float>();
}

TEST_F(RowPlainTest, BlocksHoldRowsAndWriteThem) {
  ExpectBlocksPass<__nv_bfloat16>();
  ExpectBlocksPass<float>();
}

}  // namespace
}  // namespace kernelwire
