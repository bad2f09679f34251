// How totals of a result's parts meet, by itself: in a block that has several, in the first of the blocks that share a
// result, and in a launch of its own. The order is one, and the host's here.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/reduce_long_rows.cuh"
#include "kernels/primitives/reduce_merge.cuh"
#include "kernels/primitives/reduce_parts.cuh"
#include "kernels/primitives/reduce_reads.cuh"

namespace kernelwire {
namespace {

using testing::Awkward;

class ReduceMergeTest : public testing::DeviceBodyTest {};

struct FloatTotals {
  using Total = float;
  static __device__ Total Identity() { return 0.0F; }
  static __device__ Total Combine(Total a, Total b) { return a + b; }
};

/// Four of them: a total that does not go over in one.
struct FourTotals {
  struct Total {
    float values[4];
  };
  static __device__ Total Identity() { return {}; }
  static __device__ Total Combine(const Total& a, const Total& b) {
    Total sum;
    for (int i = 0; i < 4; ++i) {
      sum.values[i] = a.values[i] + b.values[i];
    }
    return sum;
  }
};

/// Each block has a total; the first one gets those of the others, and merges them. Of `out` the first four are the
/// outcome, and the rest is where totals arrive.
template <typename R>
struct MergeInTheFirst {
  using In = float;
  using Out = float;
  using Total = typename R::Total;

  __device__ void operator()(const float* in, float* out) const {
    constexpr int kUnits = Arrival<Total>::kUnits;
    __shared__ Total totals[ReduceParts::kMaxSlots];
    constexpr int kFloats = static_cast<int>(sizeof(Total) / sizeof(float));
    float own[kFloats];
    for (int i = 0; i < kFloats; ++i) {
      own[i] = in[blockIdx.x] * static_cast<float>(i + 1);
    }
    Total total;
    memcpy(&total, own, sizeof(total));
    const int thread = static_cast<int>(threadIdx.x);
    auto* const arrivals = reinterpret_cast<uint4*>(out + 4);
    if (blockIdx.x != 0) {
      if (thread == 0) {
        Arrival<Total>::Leave(total, arrivals + blockIdx.x * kUnits);
      }
      return;
    }
    const int blocks = static_cast<int>(gridDim.x);
    if (thread < blocks) {
      totals[thread] = thread == 0 ? total : Arrival<Total>::Await(arrivals + thread * kUnits);
    }
    total = MergeSlotsOfBlock(R{}, totals, blocks);
    if (thread == 0) {
      memcpy(out, &total, sizeof(total));
    }
  }
};

/// What the second launch of columns does, by one block: `threads` threads have the slots between them.
struct MergeByALaunch {
  using In = float;
  using Out = float;
  ReduceParts parts;
  int threads;

  __device__ void operator()(const float* in, float* out) const {
    __shared__ float slots[ReduceParts::kMaxSlots];
    ResultPlace place{};
    place.results = 1;
    place.workspace = const_cast<float*>(in);
    const int results = ReduceParts::kMaxSlots / threads;
    const int slot = static_cast<int>(threadIdx.x) / results;
    const int result = static_cast<int>(threadIdx.x) % results;
    slots[threadIdx.x] = MergeOwnSlots(FloatTotals{}, parts, place, result == 0 ? parts.count : 0, slot, threads);
    MergeSlots(FloatTotals{}, slots + result, threads, slot, results);
    if (threadIdx.x == 0) {
      out[0] = slots[0];
    }
  }
};

/// As ReduceParts says: slots take parts in turn, and are merged pairwise, the farthest first.
float MergedInOrder(const std::vector<float>& totals, const ReduceParts& parts) {
  std::vector<float> slots(static_cast<std::size_t>(parts.slots), 0.0F);
  for (std::size_t part = 0; part < totals.size(); ++part) {
    slots[part % slots.size()] += totals[part];
  }
  for (std::size_t half = slots.size() / 2; half > 0; half /= 2) {
    for (std::size_t slot = 0; slot < half; ++slot) {
      slots[slot] += slots[slot + half];
    }
  }
  return slots[0];
}

TEST_F(ReduceMergeTest, TheFirstBlockMergesWhatOthersLeave) {
  for (int blocks = 1; blocks <= ReduceParts::kMaxSlots; blocks *= 2) {
    const std::vector<float> totals = Awkward(&random_, static_cast<int>(blocks));
    LaunchShape shape;
    shape.blocks = blocks;
    shape.threads = ReduceParts::kMaxSlots;
    const std::size_t places = 4 + 8 * static_cast<std::size_t>(blocks);
    const std::vector<float> one = Run(MergeInTheFirst<FloatTotals>{}, totals, places, shape);
    const std::vector<float> four = Run(MergeInTheFirst<FourTotals>{}, totals, places, shape);
    for (int i = 0; i < 4; ++i) {
      std::vector<float> scaled = totals;
      for (float& total : scaled) {
        total *= static_cast<float>(i + 1);
      }
      const float expected = MergedInOrder(scaled, CutIntoParts(blocks, 1));
      EXPECT_EQ(four[static_cast<std::size_t>(i)], expected) << blocks << " blocks";
      EXPECT_EQ(one[static_cast<std::size_t>(i)], i == 0 ? expected : 0.0F) << blocks << " blocks";
    }
    for (const auto& out : {one, four}) {
      EXPECT_TRUE(std::all_of(out.begin() + 4, out.end(), [](float place) { return place == 0.0F; }))
          << "places are left as they were found";
    }
  }
}

struct FloatRows : FloatTotals {
  using Element = float;

  static __device__ float Fill() { return 0.0F; }
  template <int kCount>
  static __device__ void AddTile(const Operand<float, 4, 1> (&tile)[kCount], const ElementNumbers& /*numbers*/,
                                 float& total) {
    for (int u = 0; u < kCount; ++u) {
      for (int j = 0; j < 4; ++j) {
        total += tile[u].inputs[0].Get(j);
      }
    }
  }
};

/// What each block has of a row of `vectors` vectors, after it has merged its own parts.
struct SharePartsOfARow {
  using In = float;
  using Out = float;
  ReduceParts parts;
  std::int64_t vectors;

  __device__ void operator()(const float* in, float* out) const {
    ReduceArguments arguments{};
    arguments.parts = parts;
    arguments.vectors = vectors;
    ResultPlace place{};
    place.inputs[0] = in;
    const ResultRows<float, 1, RowReads::kVectors, true> rows(arguments, place);
    const float total =
        TotalOfParts(FloatRows{}, arguments, rows, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
    if (threadIdx.x == 0) {
      out[blockIdx.x] = total;
    }
  }
};

TEST_F(ReduceMergeTest, PartsAreMergedInOneOrderHoweverManyBlocksShareThem) {
  for (const std::int64_t vectors : {2049, 3 * 2048, 9 * 2048 - 5, 70 * 2048 + 1, 300 * 2048, 530 * 2048 + 77}) {
    const std::vector<float> row = Awkward(&random_, static_cast<int>(4 * vectors));
    const ReduceParts parts = CutIntoParts(vectors, 2048);
    float alone = 0.0F;
    for (int blocks = 1; blocks <= parts.slots; blocks *= 2) {
      LaunchShape shape;
      shape.blocks = blocks;
      shape.threads = kLongRowBlock;
      const std::vector<float> totals =
          Run(SharePartsOfARow{parts, vectors}, row, static_cast<std::size_t>(blocks), shape);
      const float merged = MergedInOrder(totals, CutIntoParts(blocks, 1));
      alone = blocks == 1 ? merged : alone;
      EXPECT_EQ(merged, alone) << vectors << " vectors, " << blocks << " blocks";
    }
  }
}

TEST_F(ReduceMergeTest, ALaunchMergesPartsInTheirOrder) {
  for (const std::int64_t count : {1, 2, 3, 9, 31, 64, 255, 256, 257, 700, 1500}) {
    const std::vector<float> totals = Awkward(&random_, static_cast<int>(count));
    const ReduceParts parts = CutIntoParts(count, 1);
    const int threads = ThreadsOfSlots<float>(parts.slots);
    EXPECT_EQ(Run(MergeByALaunch{parts, threads}, totals, 1, ReduceParts::kMaxSlots)[0], MergedInOrder(totals, parts))
        << count << " parts";
  }
}

}  // namespace
}  // namespace kernelwire
