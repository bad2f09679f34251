// Kernels that ask for what the one before them is still writing read what it has written.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/device/buffer.h"
#include "kernels/device/early_reads.h"
#include "kernels/device/launch.cuh"
#include "kernels/primitives/primitives_test.cuh"

namespace kernelwire {
namespace {

constexpr unsigned kThreads = 128;

struct AddOneArguments {
  const float* in;
  float* out;
  EarlyReads early;
};

__global__ void AddOneKernel(const __grid_constant__ AddOneArguments arguments) {
  AwaitEarlierWork(arguments);
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  arguments.out[i] = arguments.in[i] + 1.0F;
}

class EarlyReadsTest : public testing::DeviceBodyTest {
 protected:
  /// What is left of `blocks * kThreads` zeros after so many launches, each of which adds one to what the last left.
  static std::vector<float> AddOnes(std::int64_t blocks, int launches) {
    const std::size_t bytes = static_cast<std::size_t>(blocks) * kThreads * sizeof(float);
    const auto first = DeviceBuffer::Create(bytes);
    const auto second = DeviceBuffer::Create(bytes);
    std::vector<float> left(bytes / sizeof(float));
    if (!first.ok() || !second.ok()) {
      ADD_FAILURE() << first.status() << second.status();
      return left;
    }
    float* in = reinterpret_cast<float*>(first->data());
    float* out = reinterpret_cast<float*>(second->data());
    EXPECT_EQ(cudaMemset(in, 0, bytes), cudaSuccess);
    LaunchShape shape;
    shape.blocks = blocks;
    shape.threads = kThreads;
    for (int i = 0; i < launches; ++i) {
      AddOneArguments arguments{in, out, {}};
      arguments.early.Add(in, static_cast<std::int64_t>(bytes), EarlyReads::kMostBytes);
      EXPECT_EQ(LaunchKernel(&AddOneKernel, shape, nullptr, arguments), cudaSuccess);
      std::swap(in, out);
    }
    EXPECT_EQ(cudaMemcpy(left.data(), in, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return left;
  }
};

TEST_F(EarlyReadsTest, NothingStaleIsRead) {
  constexpr int kLaunches = 500;
  for (const std::int64_t blocks : {1, 100, 1000, 40000}) {
    const std::vector<float> left = AddOnes(blocks, kLaunches);
    EXPECT_EQ(std::count(left.begin(), left.end(), static_cast<float>(kLaunches)), blocks * std::int64_t{kThreads})
        << blocks << " blocks";
  }
}

}  // namespace
}  // namespace kernelwire
