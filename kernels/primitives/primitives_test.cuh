// Tests of what kernels are built from: a body of device code that one launch runs, and what it leaves.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_PRIMITIVES_TEST_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_PRIMITIVES_TEST_CUH_

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/device/buffer.h"
#include "kernels/device/device_info.h"
#include "kernels/device/launch.cuh"

namespace kernelwire::testing {

struct BodyArguments {
  const void* in;
  void* out;
};

template <typename Body>
__global__ void BodyKernel(const __grid_constant__ BodyArguments arguments, const Body body) {
  AwaitEarlierWork(arguments);
  body(static_cast<const typename Body::In*>(arguments.in), static_cast<typename Body::Out*>(arguments.out));
}

/// Skips where there is no GPU.
class DeviceBodyTest : public ::testing::Test {
 protected:
  static constexpr unsigned kSeed = 20261123;

  void SetUp() override {
    std::string why_none;
    if (UsableDeviceCount(&why_none) == 0) {
      GTEST_SKIP() << why_none;
    }
    RecordProperty("seed", static_cast<int>(kSeed));
  }

  /// What `body` leaves of `in` in `outs` places, all zero before. A body has the types In and Out.
  template <typename Body>
  std::vector<typename Body::Out> Run(const Body& body, const std::vector<typename Body::In>& in, std::size_t outs,
                                      const LaunchShape& shape) {
    using Out = typename Body::Out;
    const std::size_t in_bytes = in.size() * sizeof(in[0]);
    const auto from = DeviceBuffer::Create(in_bytes);
    const auto to = DeviceBuffer::Create(outs * sizeof(Out));
    std::vector<Out> out(outs);
    if (!from.ok() || !to.ok()) {
      ADD_FAILURE() << from.status() << to.status();
      return out;
    }
    EXPECT_EQ(cudaMemcpy(from->data(), in.data(), in_bytes, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemset(to->data(), 0, outs * sizeof(Out)), cudaSuccess);
    EXPECT_EQ(LaunchKernel(&BodyKernel<Body>, shape, nullptr, BodyArguments{from->data(), to->data()}, body),
              cudaSuccess);
    EXPECT_EQ(cudaMemcpy(out.data(), to->data(), outs * sizeof(Out), cudaMemcpyDeviceToHost), cudaSuccess);
    return out;
  }
  /// By a block of `threads` threads.
  template <typename Body>
  std::vector<typename Body::Out> Run(const Body& body, const std::vector<typename Body::In>& in, std::size_t outs,
                                      unsigned threads) {
    LaunchShape shape;
    shape.blocks = 1;
    shape.threads = threads;
    return Run(body, in, outs, shape);
  }

  std::mt19937 random_{kSeed};
};

struct Plus {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Numbers that no two orders give the same sum of.
inline std::vector<float> Awkward(std::mt19937* random, int count) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = std::ldexp(normal(*random), static_cast<int>((*random)() % 24));
  }
  return values;
}

/// Neighbours first, then pairs of them: `count` values as the first leaves of a tree of `leaves`, a power of two.
inline float TreeSum(const float* values, int count, int leaves) {
  return leaves == 1 ? (count > 0 ? values[0] : 0.0F)
                     : TreeSum(values, count < leaves / 2 ? count : leaves / 2, leaves / 2) +
                           TreeSum(values + leaves / 2, count > leaves / 2 ? count - leaves / 2 : 0, leaves / 2);
}

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_PRIMITIVES_TEST_CUH_
