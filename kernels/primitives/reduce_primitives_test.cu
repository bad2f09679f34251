// What reductions are built from on the device, by itself: lanes that meet, halves of words, vectors from any address.
// Each test runs one block and compares with the host, which counts one by one.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_pairs.cuh"
#include "kernels/primitives/reduce_rows.cuh"
#include "kernels/primitives/row_reduce.cuh"

namespace kernelwire {
namespace {

using testing::Awkward;
using testing::kInf;
using testing::kNan;
using testing::Plus;
using testing::TreeSum;

class ReducePrimitivesTest : public testing::DeviceBodyTest {};

template <int kLanes>
struct SumLanes {
  using In = float;
  using Out = float;
  __device__ void operator()(const float* in, float* out) const {
    out[threadIdx.x] = ReduceLanes<kLanes>(in[threadIdx.x], Plus{});
  }
};

TEST_F(ReducePrimitivesTest, LanesMeetAsABinaryTreeAndAllLearnTheOutcome) {
  const std::vector<float> in = Awkward(&random_, 64);
  const auto expect_trees = [&](const std::vector<float>& out, int lanes) {
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(out[i], TreeSum(&in[i / lanes * lanes], lanes, lanes)) << "lane " << i << " of groups of " << lanes;
    }
  };
  expect_trees(Run(SumLanes<1>{}, in, 64, 64), 1);
  expect_trees(Run(SumLanes<4>{}, in, 64, 64), 4);
  expect_trees(Run(SumLanes<8>{}, in, 64, 64), 8);
  expect_trees(Run(SumLanes<32>{}, in, 64, 64), 32);
}

/// The first half of some values meets the second, as long as there are halves. Requires: a power of two of them.
float SumByHalves(std::vector<float> values) {
  for (std::size_t half = values.size() / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) {
      values[k] += values[k + half];
    }
  }
  return values[0];
}

/// Thread t sums kCount values of its own.
template <int kCount>
struct SumOwn {
  using In = float;
  using Out = float;
  __device__ void operator()(const float* in, float* out) const {
    float values[kCount];
    for (int i = 0; i < kCount; ++i) {
      values[i] = in[threadIdx.x * kCount + i];
    }
    out[threadIdx.x] = SumPairwise<kCount>(values);
  }
};

TEST_F(ReducePrimitivesTest, ValuesOfAThreadMeetByHalvesAndMissingOnesAreZeros) {
  const std::vector<float> in = Awkward(&random_, 64 * 16);
  const auto expect_halves = [&](const std::vector<float>& out, int count) {
    for (int i = 0; i < 64; ++i) {
      std::vector<float> values(16, 0.0F);
      std::copy_n(in.begin() + i * count, count, values.begin());
      EXPECT_EQ(out[i], SumByHalves(values)) << "thread " << i << ", " << count << " values";
    }
  };
  expect_halves(Run(SumOwn<1>{}, in, 64, 64), 1);
  expect_halves(Run(SumOwn<3>{}, in, 64, 64), 3);
  expect_halves(Run(SumOwn<4>{}, in, 64, 64), 4);
  expect_halves(Run(SumOwn<5>{}, in, 64, 64), 5);
  expect_halves(Run(SumOwn<6>{}, in, 64, 64), 6);
  expect_halves(Run(SumOwn<16>{}, in, 64, 64), 16);
}

/// Each lane's number, and its sum: of kParts values that all lanes have each, the one that is its.
template <int kParts>
struct SumParts {
  using In = float;
  using Out = float;
  __device__ void operator()(const float* in, float* out) const {
    float parts[kParts];
    for (int i = 0; i < kParts; ++i) {
      parts[i] = in[i * 32 + threadIdx.x];
    }
    float numbers[kParts];
    for (int i = 0; i < kParts; ++i) {
      numbers[i] = static_cast<float>(i);
    }
    out[threadIdx.x] = ReduceWarpInParts(parts, Plus{});
    out[32 + threadIdx.x] = PartOfLane(numbers);
    out[64 + threadIdx.x] = LargestOfWarp(in[threadIdx.x]);
  }
};

TEST_F(ReducePrimitivesTest, LanesDividePartsAndSumEachAsIfItWereAlone) {
  const std::vector<float> in = Awkward(&random_, 4 * 32);
  const auto expect = [&](const std::vector<float>& out, int parts) {
    for (int lane = 0; lane < 32; ++lane) {
      const int part = lane * parts / 32;
      const float sum = SumByHalves({in.begin() + part * 32, in.begin() + part * 32 + 32});
      EXPECT_EQ(out[32 + lane], static_cast<float>(part));
      EXPECT_EQ(out[lane], sum) << "lane " << lane << ", " << parts << " parts";
      EXPECT_EQ(out[64 + lane], *std::max_element(in.begin(), in.begin() + 32));
    }
  };
  expect(Run(SumParts<1>{}, in, 96, 32), 1);
  expect(Run(SumParts<2>{}, in, 96, 32), 2);
  expect(Run(SumParts<4>{}, in, 96, 32), 4);
}

struct SumList {
  using In = float;
  using Out = float;
  unsigned count;
  __device__ void operator()(const float* in, float* out) const {
    __shared__ float list[PlaceInList(256)];
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
      list[PlaceInList(i)] = in[i];
    }
    __syncthreads();
    out[threadIdx.x] = ReduceLongList(list, count, 0.0F, Plus{});
  }
};

TEST_F(ReducePrimitivesTest, AListMeetsAsItsLanesWouldWhateverItsLength) {
  const std::vector<float> in = Awkward(&random_, 256);
  for (unsigned count = 1; count <= 256; ++count) {
    int level = 1;
    while (level < static_cast<int>(count)) {
      level *= 2;
    }
    const std::vector<float> out = Run(SumList{count}, in, 64, 64);
    for (const float sum : out) {
      ASSERT_EQ(sum, TreeSum(in.data(), static_cast<int>(count), level)) << count << " values";
    }
  }
}

template <typename T>
std::uint16_t BitsOf(float value) {
  const T narrow = T(value);
  std::uint16_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return bits;
}

template <typename T>
float ValueOf(std::uint16_t bits) {
  T narrow;
  std::memcpy(static_cast<void*>(&narrow), &bits, sizeof(bits));
  return static_cast<float>(narrow);
}

/// In: two halves a word, for each thread a and b. Out: the larger of each half, and where they are equal.
template <typename T>
struct CompareHalves {
  using In = unsigned;
  using Out = unsigned;
  __device__ void operator()(const unsigned* in, unsigned* out) const {
    const unsigned a = in[2 * threadIdx.x];
    const unsigned b = in[2 * threadIdx.x + 1];
    out[2 * threadIdx.x] = LargerHalves<T>(a, b);
    out[2 * threadIdx.x + 1] = EqualHalves<T>(a, b);
  }
};

template <typename T>
class HalvesTest : public ReducePrimitivesTest {};
using Halves = ::testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(HalvesTest, Halves);

TYPED_TEST(HalvesTest, NanIsAboveEverythingAndEqualToNothing) {
  const float special[] = {0.0F, -0.0F, 1.0F, -1.0F, kInf, -kInf, kNan, 1e-40F, -1e-40F, 6e-8F, 0.5F, 65280.0F};
  for (const float a : special) {
    for (const float b : special) {
      const unsigned a_bits = BitsOf<TypeParam>(a);
      const unsigned b_bits = BitsOf<TypeParam>(b);
      const std::vector<unsigned> out =
          this->Run(CompareHalves<TypeParam>{}, {a_bits | b_bits << 16, b_bits | a_bits << 16}, 2, 1);
      const float wide_a = ValueOf<TypeParam>(static_cast<std::uint16_t>(a_bits));
      const float wide_b = ValueOf<TypeParam>(static_cast<std::uint16_t>(b_bits));
      const bool nan = std::isnan(a) || std::isnan(b);
      for (const unsigned half : {out[0] & 0xFFFFU, out[0] >> 16}) {
        const float larger = ValueOf<TypeParam>(static_cast<std::uint16_t>(half));
        EXPECT_TRUE(nan ? std::isnan(larger) : larger == std::max(wide_a, wide_b)) << a << " and " << b;
      }
      EXPECT_EQ(out[1], wide_a == wide_b ? 0xFFFFFFFFU : 0U) << a << " and " << b;
    }
  }
}

constexpr int kOperands = 8;
constexpr int kPerOperand = 8;
constexpr int kPerTile = kOperands * kPerOperand;

/// A tile for each thread. Out: its largest, as bits, and which it is.
template <typename T>
struct SearchTile {
  using In = T;
  using Out = unsigned;
  unsigned flip;
  __device__ void operator()(const T* in, unsigned* out) const {
    Operand<T, kPerOperand, 1> tile[kOperands];
    for (int u = 0; u < kOperands; ++u) {
      tile[u].inputs[0] = Packed<T, kPerOperand>::Load(in + (threadIdx.x * kOperands + u) * kPerOperand);
    }
    const unsigned largest = LargestHalf(tile, flip);
    out[2 * threadIdx.x] = largest;
    out[2 * threadIdx.x + 1] = static_cast<unsigned>(FirstHalf(tile, flip, largest));
  }
};

TYPED_TEST(HalvesTest, TheFirstOfTheLargestOfATileIsFound) {
  constexpr int kThreads = 256;
  for (const unsigned flip : {0U, 0x80008000U}) {
    std::vector<TypeParam> in(std::size_t{kThreads} * kPerTile);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const unsigned kind = static_cast<unsigned>(i / kPerTile) % 4;  // few values: ties; one NaN; one value; many
      const auto draw = static_cast<int>(this->random_() % (kind == 3 ? 4096 : kind == 2 ? 1 : 3));
      in[i] = TypeParam(static_cast<float>(draw - 1));
    }
    for (int tile = 1; tile < kThreads; tile += 4) {
      in[static_cast<std::size_t>(tile) * kPerTile + this->random_() % kPerTile] = TypeParam(kNan);
    }
    const std::vector<unsigned> out = this->Run(SearchTile<TypeParam>{flip}, in, 2 * kThreads, kThreads);
    for (int tile = 0; tile < kThreads; ++tile) {
      int best = 0;
      const auto value = [&](int i) {
        const auto wide =
            static_cast<float>(in[static_cast<std::size_t>(tile) * kPerTile + static_cast<std::size_t>(i)]);
        return flip != 0 ? -wide : wide;
      };
      for (int i = 1; i < kPerTile && !std::isnan(value(best)); ++i) {
        best = std::isnan(value(i)) || value(i) > value(best) ? i : best;
      }
      EXPECT_EQ(out[2 * tile + 1], static_cast<unsigned>(best)) << "tile " << tile << ", flip " << flip;
      const float largest = ValueOf<TypeParam>(static_cast<std::uint16_t>(out[2 * tile] & 0xFFFFU));
      EXPECT_TRUE(largest == value(best) || (std::isnan(largest) && std::isnan(value(best)))) << "tile " << tile;
      EXPECT_EQ(out[2 * tile] & 0xFFFFU, out[2 * tile] >> 16) << "tile " << tile;
    }
  }
}

/// Thread t reads up to a vector of `count` elements from element t on.
template <typename T>
struct LoadFromAnywhere {
  using In = T;
  using Out = T;
  int count;
  T fill;
  __device__ void operator()(const T* in, T* out) const {
    constexpr int kLength = kWidestVector<T>;
    UnalignedVectors<T, 1> vector;
    vector.Ask(0, in + threadIdx.x, count);
    Packed<T, kLength> packed = vector.Get(0);
    packed.FillFrom(count, fill);
    for (int j = 0; j < kLength; ++j) {
      out[threadIdx.x * kLength + j] = packed.Get(j);
    }
  }
};

/// Thread t reads a vector from element t on.
template <typename T>
struct LoadUnalignedVector {
  using In = T;
  using Out = T;
  static constexpr int kLength = kWidestVector<T>;
  __device__ void operator()(const T* in, T* out) const {
    const auto packed = Packed<T, kLength>::LoadUnaligned(in + threadIdx.x);
    for (int j = 0; j < kLength; ++j) {
      out[threadIdx.x * kLength + j] = packed.Get(j);
    }
  }
};

template <typename T>
class LoadTest : public ReducePrimitivesTest {};
using Loaded = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, float, double>;
TYPED_TEST_SUITE(LoadTest, Loaded);

TYPED_TEST(LoadTest, AVectorByItsWords) {
  using Load = LoadUnalignedVector<TypeParam>;
  constexpr int kStarts = 33;
  std::vector<TypeParam> in(kStarts + Load::kLength - 1);  // nothing behind the last one's elements: for memcheck
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<TypeParam>(i + 1);
  }
  const std::vector<TypeParam> out = this->Run(Load{}, in, kStarts * Load::kLength, kStarts);
  for (int start = 0; start < kStarts; ++start) {
    for (int j = 0; j < Load::kLength; ++j) {
      ASSERT_EQ(out[start * Load::kLength + j], in[start + j]) << "element " << j << " from " << start;
    }
  }
}

TYPED_TEST(LoadTest, AVectorFromAnyElementAndWithAnyEnd) {
  constexpr int kLength = kWidestVector<TypeParam>;
  constexpr int kStarts = 32;
  std::vector<TypeParam> in(kStarts + kLength);  // whole blocks
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<TypeParam>(i + 1);
  }
  const auto fill = static_cast<TypeParam>(-7);
  for (int count = 1; count <= kLength; ++count) {
    const std::vector<TypeParam> out =
        this->Run(LoadFromAnywhere<TypeParam>{count, fill}, in, kStarts * kLength, kStarts);
    for (int start = 0; start < kStarts; ++start) {
      for (int j = 0; j < kLength; ++j) {
        ASSERT_EQ(out[start * kLength + j], j < count ? in[start + j] : fill)
            << "element " << j << " from " << start << " of " << count;
      }
    }
  }
}

/// Sums of multiples of powers of two: exact relative to the largest power, so that no order hides a mistake. In a list
/// of `lanes` totals, those of threads or those in memory.
struct PowerSum {
  struct Total {
    double sum;
    std::int64_t power;
  };
  using Reference = std::int64_t;
  using Share = double;
  static __device__ Reference ReferenceOf(const Total& total) { return total.power; }
  static __device__ Reference Larger(Reference a, Reference b) { return max(a, b); }
  static __device__ Share ShareOf(const Total& total, Reference power) {
    return ldexp(total.sum, static_cast<int>(total.power - power));
  }
  static __device__ Share AddShares(Share a, Share b) { return a + b; }
  static __device__ Total TotalOf(Share sum, Reference power) { return {sum, power}; }
};

struct MergePowers {
  using In = PowerSum::Total;
  using Out = PowerSum::Total;
  int lanes;
  bool list;
  __device__ void operator()(const In* in, Out* out) const {
    const int first = static_cast<int>(threadIdx.x) / lanes * lanes;
    out[threadIdx.x] =
        list ? CombineList(PowerSum{}, in + first, lanes) : CombineLanes(PowerSum{}, in[threadIdx.x], lanes);
  }
};

TEST_F(ReducePrimitivesTest, TotalsMeetInTermsOfTheReferenceThatTheyAgreeOn) {
  constexpr int kThreads = 64;
  std::vector<PowerSum::Total> in(kThreads);
  for (PowerSum::Total& total : in) {
    total = {static_cast<double>(random_() % 1000),
             static_cast<std::int64_t>((std::int64_t{1} << 40) + random_() % 16)};
  }
  for (const bool list : {false, true}) {
    for (const int lanes : {1, 2, 8, 32}) {
      const std::vector<PowerSum::Total> out = Run(MergePowers{lanes, list}, in, kThreads, kThreads);
      for (int i = 0; i < kThreads; ++i) {
        const auto first = in.begin() + i / lanes * lanes;
        const std::int64_t power = std::max_element(first, first + lanes, [](const auto& a, const auto& b) {
                                     return a.power < b.power;
                                   })->power;
        double sum = 0;
        std::for_each(first, first + lanes,
                      [&](const auto& total) { sum += std::ldexp(total.sum, static_cast<int>(total.power - power)); });
        EXPECT_EQ(out[i].power, power) << "thread " << i << ", " << lanes << " lanes, list " << list;
        EXPECT_EQ(out[i].sum, sum) << "thread " << i << ", " << lanes << " lanes, list " << list;
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire
