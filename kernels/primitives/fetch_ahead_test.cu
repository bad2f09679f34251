// What is asked for ahead may begin and end anywhere, and is what it was.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "kernels/device/launch.cuh"
#include "kernels/primitives/fetch_ahead.cuh"
#include "kernels/primitives/primitives_test.cuh"

namespace kernelwire {
namespace {

constexpr unsigned kThreads = 256;

/// Each thread asks for memory of another length, that begins elsewhere, and nothing beyond the last byte.
struct AskFor {
  using In = unsigned char;
  using Out = unsigned char;
  int bytes;
  unsigned parts;
  __device__ void operator()(const unsigned char* in, unsigned char* out) const {
    const int begin = static_cast<int>(threadIdx.x) % (bytes + 1);
    const int length = (bytes - begin) * static_cast<int>(threadIdx.x / 16) / 15;
    for (unsigned part = 0; part < parts; ++part) {
      FetchAhead(in + begin, length, part, parts);
    }
    for (int i = static_cast<int>(threadIdx.x); i < bytes; i += static_cast<int>(blockDim.x)) {
      out[i] = in[i];
    }
  }
};

class FetchAheadTest : public testing::DeviceBodyTest {};

TEST_F(FetchAheadTest, MemoryMayBeginAndEndAnywhere) {
  LaunchShape shape;
  shape.blocks = 1;
  shape.threads = kThreads;
  for (const int bytes : {1, 15, 16, 17, 48, 100, 4096, 100'003}) {
    std::vector<unsigned char> in(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<unsigned char>(i * 7 + i / 256);
    }
    for (const unsigned parts : {1U, 2U, 3U, 16U}) {
      EXPECT_EQ(Run(AskFor{bytes, parts}, in, in.size(), shape), in) << bytes << " bytes in " << parts << " parts";
    }
  }
}

}  // namespace
}  // namespace kernelwire
