// 8-bit elements compared two at a time, and their products added four at a time: every byte there is, beside the
// host's reading of it.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/primitives/byte_products.cuh"
#include "kernels/primitives/fp8_values.h"
#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/reduce_pairs.cuh"

namespace kernelwire {
namespace {

constexpr int kRows = 8;
constexpr int kColumns = 16;
constexpr int kTile = kRows * kColumns;

template <typename T>
double ValueOf(std::uint8_t byte) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(byte);
  } else {
    return Fp8Values(std::is_same_v<T, __nv_fp8_e4m3> ? DataType::kFp8E4m3 : DataType::kFp8E5m2)[byte];
  }
}

/// As compared: NaN above everything, and the smallest as the largest of what is turned around.
double Turned(double value, bool smallest, bool integers) {
  return !smallest ? value : integers ? -1.0 - value : -value;
}

bool Above(double a, double b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

template <typename T>
__device__ void LoadTile(const std::uint8_t* in, Operand<T, kColumns, 1> (&tile)[kRows]) {
  for (int u = 0; u < kRows; ++u) {
    memcpy(tile[u].inputs[0].words, in + u * kColumns, kColumns);
    tile[u].present = Operand<T, kColumns, 1>::kAll;
  }
}

/// Of a tile for each thread: its largest, where that is first, and of each column the largest and which rows hold it.
template <typename T>
struct Compare {
  using In = std::uint8_t;
  using Out = double;
  using Work = std::conditional_t<std::is_integral_v<T>, int, float>;
  static constexpr int kOut = 2 + 2 * kColumns;
  bool smallest;

  __device__ void operator()(const std::uint8_t* in, double* out) const {
    Operand<T, kColumns, 1> tile[kRows];
    LoadTile(in + threadIdx.x * kTile, tile);
    out += threadIdx.x * kOut;
    const unsigned flip = FlipOfHalves(smallest);
    Work largest[2];
    WidenHalves<T>(LargestHalf(tile, flip), largest);
    out[0] = static_cast<double>(largest[0]);
    out[1] = FirstHalf(tile, flip, PairFilled<T>(largest[0], flip));
    unsigned pairs[kColumns / 2];
    LargestPairs(tile, flip, pairs);
    for (int i = 0; i < kColumns / 2; ++i) {
      WidenHalves<T>(pairs[i], largest);
      const unsigned holders = HoldersOfPair(tile, flip, i, pairs[i]);
      for (int half = 0; half < 2; ++half) {
        out[2 + 2 * (2 * i + half)] = static_cast<double>(largest[half]);
        out[3 + 2 * (2 * i + half)] = holders >> (16 * half) & 0xFFFFU;
      }
    }
  }
};

template <typename T>
class BytePairsTest : public testing::DeviceBodyTest {};
using Bytes = ::testing::Types<std::int8_t, std::uint8_t, __nv_fp8_e4m3, __nv_fp8_e5m2>;
TYPED_TEST_SUITE(BytePairsTest, Bytes);

/// The place of the largest among `count` elements from `first` on, `step` apart.
template <typename T>
int FirstOfLargest(const std::uint8_t* first, int count, int step, bool smallest) {
  int best = 0;
  const auto value = [&](int i) { return Turned(ValueOf<T>(first[i * step]), smallest, std::is_integral_v<T>); };
  for (int i = 1; i < count; ++i) {
    best = Above(value(i), value(best)) ? i : best;
  }
  return best;
}

/// Random bytes, few of them and many: ties, and NaN in some of FP8.
TYPED_TEST(BytePairsTest, TheLargestOfTilesAndOfTheirColumnsIsFoundAndWhere) {
  using T = TypeParam;
  constexpr bool kIntegers = std::is_integral_v<T>;
  constexpr int kThreads = 128;
  std::vector<std::uint8_t> in(std::size_t{kThreads} * kTile);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto few = static_cast<std::uint8_t>(0x3A + this->random_() % 3 + (this->random_() % 2) * 0x80);
    in[i] = i / kTile % 2 == 0 ? static_cast<std::uint8_t>(this->random_()) : few;
  }
  for (const bool smallest : {false, true}) {
    const std::vector<double> out = this->Run(Compare<T>{smallest}, in, kThreads * Compare<T>::kOut, kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      const std::uint8_t* const tile = &in[static_cast<std::size_t>(thread * kTile)];
      const double* const found = &out[static_cast<std::size_t>(thread * Compare<T>::kOut)];
      const auto expect = [&](const std::uint8_t* first, int place, int step, double largest) {
        const double wanted = Turned(ValueOf<T>(first[place * step]), smallest, kIntegers);
        EXPECT_TRUE(largest == wanted || (std::isnan(largest) && std::isnan(wanted)))
            << largest << ", not " << wanted << ", thread " << thread << ", smallest " << smallest;
      };
      const int place = FirstOfLargest<T>(tile, kTile, 1, smallest);
      expect(tile, place, 1, found[0]);
      EXPECT_EQ(found[1], place) << "thread " << thread << ", smallest " << smallest;
      for (int column = 0; column < kColumns; ++column) {
        const int row = FirstOfLargest<T>(tile + column, kRows, kColumns, smallest);
        expect(tile + column, row, kColumns, found[2 + 2 * column]);
        unsigned holders = 0;
        for (int u = 0; u < kRows; ++u) {
          const double wanted = ValueOf<T>(tile[row * kColumns + column]);
          const double own = ValueOf<T>(tile[u * kColumns + column]);
          holders |= own == wanted || (std::isnan(own) && std::isnan(wanted)) ? 1U << u : 0U;
        }
        EXPECT_EQ(found[3 + 2 * column], holders) << "column " << column << " of thread " << thread;
      }
    }
  }
}

/// Every byte by itself, which a pair has all the bits of.
TYPED_TEST(BytePairsTest, EveryByteIsWhatItIs) {
  using T = TypeParam;
  constexpr int kThreads = 256;
  std::vector<std::uint8_t> in(std::size_t{kThreads} * kTile);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<std::uint8_t>(i / kTile);
  }
  for (const bool smallest : {false, true}) {
    const std::vector<double> out = this->Run(Compare<T>{smallest}, in, kThreads * Compare<T>::kOut, kThreads);
    for (int byte = 0; byte < kThreads; ++byte) {
      const double wanted = Turned(ValueOf<T>(static_cast<std::uint8_t>(byte)), smallest, std::is_integral_v<T>);
      const double found = out[static_cast<std::size_t>(byte * Compare<T>::kOut)];
      EXPECT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted))) << found << ", byte " << byte;
      EXPECT_EQ(out[static_cast<std::size_t>(byte * Compare<T>::kOut + 1)], 0) << "byte " << byte;
    }
  }
}

/// The sum of the squares of each column of a tile, and that of the tile's first row.
template <typename T>
struct AddSquares {
  using In = std::uint8_t;
  using Out = int;
  static constexpr int kOut = kColumns + 1;

  __device__ void operator()(const std::uint8_t* in, int* out) const {
    Operand<T, kColumns, 1> tile[kRows];
    LoadTile(in + threadIdx.x * kTile, tile);
    int sums[kColumns] = {};
    AddFourRowsEach(tile, sums, [](unsigned bytes, int sum) { return AddProducts<T>(bytes, bytes, sum); });
    int of_row = 0;
    for (const unsigned word : tile[0].inputs[0].words) {
      of_row = AddProducts<T>(word, word, of_row);
    }
    for (int column = 0; column < kColumns; ++column) {
      out[threadIdx.x * kOut + column] = sums[column];
    }
    out[threadIdx.x * kOut + kColumns] = of_row;
  }
};

template <typename T>
class ByteProductsTest : public testing::DeviceBodyTest {};
using ByteIntegers = ::testing::Types<std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(ByteProductsTest, ByteIntegers);

TYPED_TEST(ByteProductsTest, ColumnsAndRowsAreAddedExactly) {
  using T = TypeParam;
  constexpr int kThreads = 64;
  std::vector<std::uint8_t> in(std::size_t{kThreads} * kTile);
  for (std::uint8_t& byte : in) {
    byte = static_cast<std::uint8_t>(this->random_());
  }
  const std::vector<int> out = this->Run(AddSquares<T>{}, in, kThreads * AddSquares<T>::kOut, kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    const auto square = [&](int row, int column) {
      const auto value =
          static_cast<int>(static_cast<T>(in[static_cast<std::size_t>(thread * kTile + row * kColumns + column)]));
      return value * value;
    };
    int of_row = 0;
    for (int column = 0; column < kColumns; ++column) {
      int sum = 0;
      for (int row = 0; row < kRows; ++row) {
        sum += square(row, column);
      }
      of_row += square(0, column);
      EXPECT_EQ(out[static_cast<std::size_t>(thread * AddSquares<T>::kOut + column)], sum) << "thread " << thread;
    }
    EXPECT_EQ(out[static_cast<std::size_t>(thread * AddSquares<T>::kOut + kColumns)], of_row) << "thread " << thread;
  }
}

}  // namespace
}  // namespace kernelwire
