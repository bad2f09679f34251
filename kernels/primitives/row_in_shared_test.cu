// Shares of rows in shared memory, by themselves: every element is in its place and the fill beyond, wherever a row
// begins in a granule, and results are written wherever they are to lie, and nowhere else.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/row_group.cuh"
#include "kernels/primitives/row_passing_test.cuh"
#include "kernels/primitives/row_shapes.cuh"

namespace kernelwire {
namespace {

class RowInSharedTest : public testing::DeviceBodyTest {};

/// Rows of three warps: less than a granule, one warp's and a little, whole granules, and all that there is room for,
/// from each place of 32 bytes. A block has two of them, one after another.
template <typename T, int kWords, typename Run>
void ExpectSharesPass(const Run& run) {
  constexpr int kOfGranule = 16 / static_cast<int>(sizeof(T));
  constexpr int kOfWarp = 32 * kWords * 4 / static_cast<int>(sizeof(T));
  LaunchShape shape;
  shape.blocks = 2;
  shape.threads = 96;
  for (const int width : {1, kOfGranule - 1, kOfWarp + 1, 2 * kOfWarp + kOfGranule, 3 * kOfWarp - 1, 3 * kOfWarp}) {
    testing::ExpectRowsPass<T, RowShapeInShared<kWords, 96, 1>>(run, 2 * kOfGranule, 3, width, shape);
  }
}

TEST_F(RowInSharedTest, BlocksHaveEveryElementAndWriteIt) {
  if (!DeviceHasClusters()) {
    GTEST_SKIP() << "needs compute capability 9.0";
  }
  const auto run = [this](const auto& body, const auto& in, std::size_t outs, const LaunchShape& shape) {
    return Run(body, in, outs, shape);
  };
  ExpectSharesPass<float, 36>(run);
  ExpectSharesPass<float, 50>(run);
  ExpectSharesPass<float, 64>(run);
  ExpectSharesPass<__nv_bfloat16, 24>(run);
  ExpectSharesPass<__nv_bfloat16, 32>(run);
  ExpectSharesPass<__nv_bfloat16, 50>(run);
}

}  // namespace
}  // namespace kernelwire
