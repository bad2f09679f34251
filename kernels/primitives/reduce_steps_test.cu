// Steps over nested axes lead where divisions do.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/reduce_params.h"
#include "kernels/primitives/reduce_steps.h"

namespace kernelwire {
namespace {

class ReduceStepsTest : public testing::DeviceBodyTest {};

/// Thread t finds the offsets of its numbers first + t, first + t + step, ... and whether each is a last one.
struct FindSome {
  static constexpr int kCount = 8;
  using In = std::int32_t;
  using Out = long long;
  IndexMap map;
  NestedSteps steps;
  std::int64_t first;

  __device__ void operator()(const In* /*in*/, Out* out) const {
    std::int64_t offsets[kCount];
    unsigned last;
    FindOffsets(map, steps, first + threadIdx.x, offsets, &last);
    for (int u = 0; u < kCount; ++u) {
      out[2 * (threadIdx.x * kCount + u)] = offsets[u];
      out[2 * (threadIdx.x * kCount + u) + 1] = last >> u & 1U;
    }
  }
};

TEST_F(ReduceStepsTest, LeadWhereDivisionsDo) {
  constexpr std::int64_t kStrides[] = {15485863, 32452843, 49979687, 67867967};  // primes: each index shows
  const std::vector<std::int64_t> extents_of_maps[] = {
      {100000}, {40, 70}, {1000, 3}, {30, 1, 9}, {7, 11, 13}, {3, std::int64_t{1} << 33}, {5, 3, 4, 6}};
  for (const std::vector<std::int64_t>& extents : extents_of_maps) {
    IndexMap map;
    std::int64_t numbers = 1;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      map.extents[i] = extents[i];
      map.strides[i] = kStrides[i];
      numbers *= extents[i];
      ++map.axes;
    }
    for (const int step : {1, 2, 16, 100, 256}) {
      for (const std::int64_t first :
           {std::int64_t{0}, numbers / 2 - 7 * step, numbers - 7 * step - 32, numbers / extents[0] - 3 * step}) {
        if (first < 0) {
          continue;
        }
        SCOPED_TRACE(::testing::PrintToString(extents) + " by " + std::to_string(step) + " from " +
                     std::to_string(first));
        const FindSome find{map, StepsOver(map, step), first};
        const std::vector<long long> out = Run(find, std::vector<std::int32_t>(1), 2 * 32 * FindSome::kCount, 32);
        for (int i = 0; i < 32 * FindSome::kCount; ++i) {
          const std::int64_t number = first + i / FindSome::kCount + i % FindSome::kCount * step;
          if (number >= numbers) {
            continue;
          }
          ASSERT_EQ(out[static_cast<std::size_t>(2 * i)], map.Offset(number)) << "number " << number;
          ASSERT_EQ(out[static_cast<std::size_t>(2 * i + 1)], (number + 1) % extents.back() == 0 ? 1 : 0)
              << "number " << number;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire
