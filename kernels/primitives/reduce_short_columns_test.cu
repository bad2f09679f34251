// Short columns by themselves: what a thread reads and adds of them, in which order lanes meet, and how a warp stores
// results.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/reduce_short_columns.cuh"

namespace kernelwire {
namespace {

class ShortColumnsTest : public testing::DeviceBodyTest {};

/// Sums of elements times their numbers. The order in which totals are combined shows in the result.
template <typename T>
struct OrderedSum {
  using Element = T;
  using Total = long long;
  static constexpr int kInputs = 1;

  static __device__ T Fill() { return 5; }
  static __device__ Total Identity() { return 0; }
  template <int kCount, int kLength>
  __device__ void AddTile(const Operand<T, kLength, 1> (&tile)[kCount], const ElementNumbers& numbers,
                          Total& total) const {
    for (int u = 0; u < kCount; ++u) {
      for (int j = 0; j < kLength; ++j) {
        const bool present = (tile[u].present >> j & 1U) != 0;
        total += present ? (numbers.Of<T>(u, j) + 1) * tile[u].inputs[0].Get(j) : 0;
      }
    }
  }
  KERNELWIRE_HOST_DEVICE Total Combine(Total a, Total b) const { return 1000003 * a + b; }
  __device__ void Store(const ReduceArguments& /*arguments*/, const ResultPlace& place, Total total) const {
    static_cast<Total*>(place.y)[place.index] += total;
  }
};

/// Each thread has kLength columns of `run`, the last thread's reach back.
template <typename T, int kLength, ColumnReads kReads, int kLanes>
struct AddShortColumns {
  using In = T;
  using Out = long long;
  int start;
  int height;
  int run;

  __device__ void operator()(const T* in, Out* out) const {
    const auto column =
        static_cast<int>(FirstColumn<kLength, kReads>(static_cast<int>(threadIdx.x) * kLength, std::int64_t{run}));
    const T* at[1] = {in + start + column};
    ShortColumns<OrderedSum<T>, kLength, kReads, kLanes> columns;
    columns.Load(at, height, run, OrderedSum<T>::Fill());
    long long values[kLength];
    columns.Add(OrderedSum<T>{}, values);
    for (int j = 0; j < kLength; ++j) {
      out[column + j] = values[j];
    }
  }
};

class ShortColumnsAddTest : public ShortColumnsTest {
 protected:
  template <typename T, int kLength, ColumnReads kReads, int kLanes>
  void ExpectTotals(int height, int run, int start = 0) {
    SCOPED_TRACE(std::to_string(height) + " rows, " + std::to_string(run) + " columns from " + std::to_string(start));
    std::vector<T> in(static_cast<std::size_t>((start + height * run + 3) / 4 * 4));  // words are read whole
    for (T& x : in) {
      x = static_cast<T>(random_() % 200);
    }
    const AddShortColumns<T, kLength, kReads, kLanes> add{start, height, run};
    const auto threads = static_cast<unsigned>((run + kLength - 1) / kLength);
    const std::vector<long long> out = Run(add, in, static_cast<std::size_t>(run), threads);
    for (int column = 0; column < run; ++column) {
      long long of_lanes[2] = {};
      for (int row = 0; row < height; ++row) {
        of_lanes[row % kLanes] += (row + 1LL) * in[static_cast<std::size_t>(start + row * run + column)];
      }
      const long long total = kLanes == 1 ? of_lanes[0] : OrderedSum<T>{}.Combine(of_lanes[0], of_lanes[1]);
      ASSERT_EQ(out[static_cast<std::size_t>(column)], total) << "column " << column;
    }
  }
};

TEST_F(ShortColumnsAddTest, RowsGoToLanesInTurn) {
  for (const int height : {1, 2, 7, 8}) {
    ExpectTotals<std::int32_t, 4, ColumnReads::kAligned, 1>(height, 64);
    ExpectTotals<std::int32_t, 1, ColumnReads::kAligned, 1>(height, 37, 3);
    ExpectTotals<std::uint8_t, 16, ColumnReads::kUnaligned, 1>(height, 101, 5);
  }
  for (const int height : {9, 12, 15, 16}) {
    ExpectTotals<std::int32_t, 4, ColumnReads::kAligned, 2>(height, 64);
    ExpectTotals<std::int32_t, 1, ColumnReads::kAligned, 2>(height, 37, 3);
    ExpectTotals<std::uint8_t, 16, ColumnReads::kUnaligned, 2>(height, 16, 1);
    ExpectTotals<std::uint8_t, 16, ColumnReads::kUnaligned, 2>(height, 101, 5);
  }
}

/// The total of as many lanes as there are elements.
struct MergeLanes {
  using In = std::int32_t;
  using Out = long long;
  int lanes;

  __device__ void operator()(const In* in, Out* out) const {
    *out = TotalOfLanes(OrderedSum<std::int32_t>{}, lanes, [&](int lane) { return in[lane]; });
  }
};

TEST_F(ShortColumnsTest, LanesMeetInTheirOrderEachHalfByItself) {
  const OrderedSum<std::int32_t> sum;
  for (const int lanes : {1, 2, 4, 8, 16}) {
    std::vector<std::int32_t> in(static_cast<std::size_t>(lanes));
    for (std::int32_t& x : in) {
      x = static_cast<std::int32_t>(random_() % 7);
    }
    const auto fold = [&](int first, int end) {
      long long total = in[static_cast<std::size_t>(first)];
      for (int i = first + 1; i < end; ++i) {
        total = sum.Combine(total, in[static_cast<std::size_t>(i)]);
      }
      return total;
    };
    const long long total = lanes == 1 ? in[0] : sum.Combine(fold(0, lanes / 2), fold(lanes / 2, lanes));
    EXPECT_EQ(Run(MergeLanes{lanes}, in, 1, 1U)[0], total) << lanes << " lanes";
  }
}

/// Each thread has kLength results, from `step` behind those of the one before it on; the last `idle` threads have
/// none. Results of threads from `other` on are another request's, which begins 10 behind.
template <int kLength, typename Value>
struct StoreResults {
  using In = char;
  using Out = long long;
  int step;
  int idle;
  int other;

  __device__ void operator()(const char* /*in*/, Out* out) const {
    const auto thread = static_cast<int>(threadIdx.x);
    const bool of_other = thread >= other;
    ResultPlace place{};
    place.index = (of_other ? thread - other : thread) * step;
    place.y = of_other ? out + other * step + 10 : out;
    Value values[kLength];
    for (int j = 0; j < kLength; ++j) {
      values[j] = static_cast<Value>(thread * kLength + j + 1);
    }
    const bool live = thread < static_cast<int>(blockDim.x) - idle;
    WarpOfResults<OrderedSum<std::int32_t>, kLength, Value>::Store({}, ReduceArguments{}, place, live, values);
  }
};

class WarpOfResultsTest : public ShortColumnsTest {
 protected:
  /// Each result once.
  template <int kLength, typename Value>
  void ExpectStored(int step, int idle, int other) {
    SCOPED_TRACE(std::to_string(kLength) + " results, a step of " + std::to_string(step) + ", " + std::to_string(idle) +
                 " idle, another request from thread " + std::to_string(other) + " on");
    constexpr int kThreads = kColumnBlock;
    const auto places = static_cast<std::size_t>(kThreads * step + kLength + 10);
    std::vector<long long> expected(places);
    for (int thread = 0; thread < kThreads - idle; ++thread) {
      for (int j = 0; j < kLength; ++j) {
        expected[static_cast<std::size_t>(thread * step + (thread >= other ? 10 : 0) + j)] = thread * kLength + j + 1;
      }
    }
    const StoreResults<kLength, Value> store{step, idle, other};
    EXPECT_EQ(Run(store, std::vector<char>(1), places, kThreads), expected);
  }
};

TEST_F(WarpOfResultsTest, EachGoesToItsPlace) {
  for (const int idle : {0, 1, 40}) {
    for (const int other : {300, 64, 75}) {
      ExpectStored<1, long long>(1, idle, other);
      ExpectStored<4, long long>(4, idle, other);
      ExpectStored<4, std::int32_t>(9, idle, other);
      ExpectStored<8, long long>(8, idle, other);
      ExpectStored<16, std::int32_t>(16, idle, other);
      ExpectStored<16, long long>(21, idle, other);
    }
  }
}

}  // namespace
}  // namespace kernelwire
