// Rows in vectors that begin anywhere, by themselves: threads have every element in its place and the fill beyond,
// wherever rows begin, and write them wherever they are to lie, and nothing else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_passing_test.cuh"
#include "kernels/primitives/row_shapes.cuh"

namespace kernelwire {
namespace {

class RowShiftedTest : public testing::DeviceBodyTest {
 protected:
  /// A block each, of three warps: full ones, one that is not, and one that has nothing; rows that end in the first and
  /// the last lane, between vectors and amid one.
  template <typename T, int kVectors>
  void ExpectBlocksPass() {
    using Shape = RowShape<BlockGroup, kVectors, false, true>;
    constexpr int kLength = kElementsOfGranule<T>;
    constexpr int kOfWarp = 32 * kVectors * kLength;
    LaunchShape shape;
    shape.blocks = 3;
    shape.threads = 96;
    for (const int width : {kOfWarp, kOfWarp + 1, kOfWarp + kLength, kOfWarp + kOfWarp / 2, 2 * kOfWarp - kLength - 1,
                            2 * kOfWarp + 32 * kLength, 3 * kOfWarp - 1, 3 * kOfWarp}) {
      testing::ExpectRowsPass<T, Shape>([this](const auto& body, const auto& in, std::size_t outs,
                                               const LaunchShape& launch) { return Run(body, in, outs, launch); },
                                        kLength, 3, width, shape);
      if (width % kLength == 0) {
        testing::ExpectRowsPass<T, Shape, RowAccess::kMisaligned>(
            [this](const auto& body, const auto& in, std::size_t outs, const LaunchShape& launch) {
              return Run(body, in, outs, launch);
            },
            kLength, 3, width, shape);
      }
    }
  }

  /// Rows of whole vectors that lanes share, in warps that are full and one that is not; they end in any lane.
  template <typename T, int kLanes, int kVectors>
  void ExpectLanesPass() {
    using Shape = RowShape<LaneGroup<kLanes>, kVectors, false>;
    constexpr int kLength = kElementsOfGranule<T>;
    LaunchShape shape;
    shape.blocks = 1;
    shape.threads = 64;
    for (const int vectors : {(kVectors - 1) * kLanes + 1, kVectors * kLanes - kLanes / 2, kVectors * kLanes}) {
      for (const int rows : {64 / kLanes, 64 / kLanes - 1, 1}) {
        testing::ExpectRowsPass<T, Shape, RowAccess::kMisaligned>(
            [this](const auto& body, const auto& in, std::size_t outs, const LaunchShape& launch) {
              return Run(body, in, outs, launch);
            },
            kLength, rows, vectors * kLength, shape);
      }
    }
  }
};

TEST_F(RowShiftedTest, BlocksHoldRowsOfTwoByteElementsAndWriteThem) {
  ExpectBlocksPass<__nv_bfloat16, 4>();
  ExpectBlocksPass<__nv_bfloat16, 8>();
}

TEST_F(RowShiftedTest, BlocksHoldRowsOfFourByteElementsAndWriteThem) {
  ExpectBlocksPass<float, 4>();
  ExpectBlocksPass<float, 8>();
}

TEST_F(RowShiftedTest, LanesHoldMisalignedRowsOfTwoByteElementsAndWriteThem) {
  ExpectLanesPass<__nv_bfloat16, 8, 3>();
  ExpectLanesPass<__nv_bfloat16, 16, 4>();
  ExpectLanesPass<__nv_bfloat16, 32, 3>();
}

TEST_F(RowShiftedTest, LanesHoldMisalignedRowsOfFourByteElementsAndWriteThem) {
  ExpectLanesPass<float, 8, 4>();
  ExpectLanesPass<float, 16, 3>();
  ExpectLanesPass<float, 32, 4>();
}

TEST_F(RowShiftedTest, BlocksHoldRowsOfEightByteElementsAndWriteThem) {
  ExpectBlocksPass<double, 4>();
  ExpectBlocksPass<double, 8>();
}

}  // namespace
}  // namespace kernelwire
