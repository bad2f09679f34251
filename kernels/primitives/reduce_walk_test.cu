// How reductions go over memory, by itself: the rows of a result in each way to read them, the walk down columns, and
// the merge of parts' totals. Each is compared with the host, which counts one by one.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/primitives/primitives_test.cuh"
#include "kernels/primitives/reduce_column_walk.cuh"
#include "kernels/primitives/reduce_load.cuh"
#include "kernels/primitives/reduce_merge.cuh"
#include "kernels/primitives/reduce_parts.cuh"
#include "kernels/primitives/reduce_reads.cuh"

namespace kernelwire {
namespace {

using testing::Awkward;

class ReduceWalkTest : public testing::DeviceBodyTest {};

ReduceLayout LayoutOf(const std::vector<std::int64_t>& extents) {
  ReduceParams params;
  params.rank = static_cast<std::int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), params.extents);
  return LayOutReduction(params);
}

template <typename T>
constexpr DataType kTypeOfSize = sizeof(T) == 1   ? DataType::kInt8
                                 : sizeof(T) == 2 ? DataType::kBf16
                                 : sizeof(T) == 4 ? DataType::kFp32
                                                  : DataType::kFp64;

/// Reads a row that begins at element `start`, in parts of `part` vectors, and writes each element to its number.
/// Leaves a mark behind them where what is not there is not the fill.
template <typename T, RowReads kReads>
struct CopyRow {
  using In = T;
  using Out = T;
  ReduceLayout layout;
  RowShares shares;
  int start;
  int part;
  std::int64_t vectors;

  __device__ void operator()(const T* in, T* out) const {
    using Rows = ResultRows<T, 1, kReads>;
    constexpr int kCount = 2;
    const T fill = static_cast<T>(77);
    ReduceArguments arguments{};
    arguments.layout = layout;
    arguments.shares = shares;
    ResultPlace place{};
    place.inputs[0] = in + start;
    const Rows rows(arguments, place);
    const int lane = static_cast<int>(threadIdx.x);
    const int threads = static_cast<int>(blockDim.x);
    for (std::int64_t begin = 0; begin < vectors; begin += min(part, kCount * threads)) {
      const auto count = static_cast<int>(min(vectors - begin, static_cast<std::int64_t>(part)));
      typename Rows::Elements tile[kCount];
      rows.Load(arguments, begin, lane, threads, count, fill, tile);
      const ElementNumbers numbers = Rows::NumbersOf(arguments, begin, lane, threads);
      for (int u = 0; u < kCount; ++u) {
        for (int j = 0; j < Rows::kLength; ++j) {
          const T value = tile[u].inputs[0].Get(j);
          if ((tile[u].present >> j & 1U) != 0) {
            out[numbers.Of<T>(u, j)] += value;  // twice: wrong
          } else if (value != fill) {
            out[layout.width] = 1;
          }
        }
      }
    }
  }
};

template <typename T>
class RowReadsTest : public ReduceWalkTest {
 protected:
  template <RowReads kReads>
  void ExpectCopy(std::int64_t width, int start, int threads) {
    constexpr int kLength = kWidestVector<T>;
    std::vector<T> in(static_cast<std::size_t>(start + width));
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<T>(i % 61 + 1);
    }
    const ReduceLayout layout = LayoutOf({width});
    const RowShares shares = SharesOf(layout, kTypeOfSize<T>);
    const std::int64_t vectors = (width + kLength - 1) / kLength;
    for (const int part : {2 * threads, 1 << 20}) {
      const CopyRow<T, kReads> copy{layout, shares, start, part, vectors};
      const std::vector<T> out =
          this->Run(copy, in, static_cast<std::size_t>(width) + 1, static_cast<unsigned>(threads));
      for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
        ASSERT_EQ(out[i], in[i + static_cast<std::size_t>(start)]) << "element " << i;
      }
      EXPECT_EQ(out.back(), T{0}) << "what is not there is not the fill";
    }
  }
};
using Elements = ::testing::Types<std::int8_t, std::int16_t, float, double>;
TYPED_TEST_SUITE(RowReadsTest, Elements);

TYPED_TEST(RowReadsTest, EveryElementIsReadOnceFromWhereverTheRowBegins) {
  constexpr int kLength = kWidestVector<TypeParam>;
  constexpr int kInPiece = static_cast<int>(BytesOfPiece(sizeof(TypeParam)) / sizeof(TypeParam));
  for (const std::int64_t width : {1, 2, 3, 4, 8, 15, 16, 17, 20, 32, 33, 50, 52, 64, 99, 100, 128, 301, 640, 1001}) {
    for (const int threads : {1, 4, 32}) {
      for (int start = 0; start < kLength; ++start) {
        SCOPED_TRACE(std::to_string(width) + " from " + std::to_string(start) + ", " + std::to_string(threads) +
                     " threads");
        this->template ExpectCopy<RowReads::kAny>(width, start, threads);
        if (width % kLength == 0 && start == 0) {
          this->template ExpectCopy<RowReads::kVectors>(width, start, threads);
        } else if (width % kLength != 0 && width % kInPiece == 0 && start % kInPiece == 0) {
          this->template ExpectCopy<RowReads::kPieces>(width, start, threads);
        }
      }
    }
  }
}

/// Each element times its number, counted from 1: exact, and no two elements can be mistaken for each other.
struct NumberedSum {
  using Element = std::int32_t;
  using Total = long long;
  static constexpr int kInputs = 1;

  static __device__ Element Fill() { return 0; }
  template <int kCount, int kLength>
  __device__ void AddTile(const Operand<Element, kLength, 1> (&tile)[kCount], const ElementNumbers& numbers,
                          Total& total) const {
    for (int u = 0; u < kCount; ++u) {
      for (int j = 0; j < kLength; ++j) {
        total += (numbers.Of<Element>(u, j) + 1) * tile[u].inputs[0].Get(j);
      }
    }
  }
};

/// What each lane has of each column of a run, in rows [begin, begin + rows).
template <int kLength, bool kPlain>
struct WalkColumns {
  using In = std::int32_t;
  using Out = long long;
  ReduceLayout layout;
  int run;  // which
  int begin;
  int rows;
  int lanes;

  __device__ void operator()(const In* in, Out* out) const {
    ReduceArguments arguments{};
    arguments.layout = layout;
    ResultPlace place{};
    place.inputs[0] = in;
    place.result = run * layout.run;
    const int across = static_cast<int>(blockDim.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) / across;
    const int column = static_cast<int>(threadIdx.x) % across * kLength;
    ColumnWalk<NumberedSum, kLength, kPlain> walk(arguments, lanes);
    walk.Start(place, column, begin, lane, rows);
    long long sums[kLength] = {};
    walk.Add(NumberedSum{}, 1 << 20, sums);
    for (int j = 0; j < kLength; ++j) {
      out[lane * layout.run + column + j] = sums[j];
    }
  }
};

class ColumnWalkTest : public ReduceWalkTest {
 protected:
  template <int kLength, bool kPlain>
  void ExpectSums(const std::vector<std::int64_t>& extents, int begin, int rows, int lanes) {
    const ReduceLayout layout = LayoutOf(extents);
    std::vector<std::int32_t> in(static_cast<std::size_t>(layout.piece));
    for (std::int32_t& x : in) {
      x = static_cast<std::int32_t>(random_() % 2001) - 1000;
    }
    const auto runs = static_cast<int>(layout.results / layout.run);
    for (int run = 0; run < runs; ++run) {
      const WalkColumns<kLength, kPlain> walk{layout, run, begin, rows, lanes};
      const auto columns = static_cast<int>(layout.run);
      const std::vector<long long> out =
          Run(walk, in, static_cast<std::size_t>(lanes * columns), static_cast<unsigned>(lanes * columns / kLength));
      for (int i = 0; i < lanes * columns; ++i) {
        long long sum = 0;
        for (int row = begin + i / columns; row < begin + rows; row += lanes) {
          const std::int64_t at = layout.kept.Offset(run) + layout.reduced.Offset(row) + i % columns;
          sum += (row + 1LL) * in[static_cast<std::size_t>(at)];
        }
        ASSERT_EQ(out[static_cast<std::size_t>(i)], sum)
            << "lane " << i / columns << ", column " << i % columns << " of run " << run;
      }
    }
  }
};

TEST_F(ColumnWalkTest, LanesShareTheRowsOfAPart) {
  for (const int lanes : {1, 2, 16}) {
    for (const int rows : {1, 7, 8, 16, 17, 100, 128, 300}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(lanes) + " lanes");
      ExpectSums<4, true>({320, 16}, 0, rows, lanes);
      ExpectSums<4, true>({320, 16}, 20, rows, lanes);
      ExpectSums<1, false>({320, 5}, 20, rows, lanes);
      ExpectSums<1, false>({40, 2, 8, 5}, 20, rows, lanes);
    }
  }
}

struct FloatTotals {
  using Total = float;
  static __device__ Total Identity() { return 0.0F; }
  static __device__ Total Combine(Total a, Total b) { return a + b; }
};

/// A block for each part leaves its total, and the last of them merges all. Of `out` the first is the result, the
/// second the ticket, and the rest the workspace.
struct MergeByTheLast {
  using In = float;
  using Out = float;
  ReduceParts parts;

  __device__ void operator()(const float* in, float* out) const {
    __shared__ float slots[ReduceParts::kMaxSlots];
    ResultPlace place{};
    place.results = 1;
    place.workspace = out + 2;
    if (threadIdx.x == 0) {
      PartTotal<float>(place, blockIdx.x) = in[blockIdx.x];
    }
    if (ComesLast(reinterpret_cast<std::uint32_t*>(out + 1), static_cast<int>(gridDim.x))) {
      slots[threadIdx.x] = CollectSlot(FloatTotals{}, parts, place, static_cast<int>(threadIdx.x));
      MergeSlots(FloatTotals{}, slots, parts.slots, static_cast<int>(threadIdx.x), 1);
      if (threadIdx.x == 0) {
        out[0] = slots[0];
      }
    }
  }
};

/// The same by a launch of its own, of which one block does it: `threads` threads have the slots between them.
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

TEST_F(ReduceWalkTest, PartsAreMergedInOneOrderWhoeverMergesThem) {
  for (const std::int64_t count : {1, 2, 3, 9, 31, 64, 255, 256, 257, 700, 1500}) {
    const std::vector<float> totals = Awkward(&random_, static_cast<std::size_t>(count));
    const ReduceParts parts = CutIntoParts(count, 1);
    const float expected = MergedInOrder(totals, parts);
    LaunchShape shape;
    shape.blocks = count;
    shape.threads = ReduceParts::kMaxSlots;
    const std::vector<float> by_last = Run(MergeByTheLast{parts}, totals, static_cast<std::size_t>(count) + 2, shape);
    EXPECT_EQ(by_last[0], expected) << count << " parts";
    EXPECT_EQ(by_last[1], 0.0F) << "the ticket is as before";
    const int threads = ThreadsOfSlots<float>(parts.slots);
    EXPECT_EQ(Run(MergeByALaunch{parts, threads}, totals, 1, ReduceParts::kMaxSlots)[0], expected) << count << " parts";
  }
}

}  // namespace
}  // namespace kernelwire
