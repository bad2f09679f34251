// How reductions go over memory, by itself: the rows of a result in each way to read them, and the walk down columns.
// Each is compared with the host, which counts one by one.
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
#include "kernels/primitives/reduce_reads.cuh"

namespace kernelwire {
namespace {

class ReduceWalkTest : public testing::DeviceBodyTest {};

ReduceLayout LayoutOf(const std::vector<std::int64_t>& extents) {
  ReduceParams params;
  params.rank = static_cast<std::int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), params.extents);
  return LayOutReduction(params);
}

/// Reads a row that begins at element `start`, in parts of `part` vectors, and writes each element to its number.
/// Leaves a mark behind them where what is not there is not the fill. Each `threads` threads do the same; the first
/// ones write.
template <typename T, RowReads kReads, bool kWarps>
struct CopyRow {
  using In = T;
  using Out = T;
  ReduceLayout layout;
  int start;
  int part;
  int threads;
  std::int64_t vectors;

  __device__ void operator()(const T* in, T* out) const {
    using Rows = ResultRows<T, 1, kReads, kWarps>;
    constexpr int kCount = 2;
    const T fill = static_cast<T>(77);
    ReduceArguments arguments{};
    arguments.layout = layout;
    ResultPlace place{};
    place.inputs[0] = in + start;
    const Rows rows(arguments, place);
    const int lane = static_cast<int>(threadIdx.x) % threads;
    for (std::int64_t begin = 0; begin < vectors; begin += min(part, kCount * threads)) {
      const auto count = static_cast<int>(min(vectors - begin, static_cast<std::int64_t>(part)));
      typename Rows::Elements tile[kCount];
      rows.Load(arguments, begin, lane, threads, count, fill, tile);
      const ElementNumbers numbers = Rows::template NumbersOf<kCount>(begin, lane, threads);
      for (int u = 0; u < kCount && static_cast<int>(threadIdx.x) < threads; ++u) {
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
    if (threads % 32 == 0) {
      ExpectCopyBy<kReads, true>(width, start, threads);
    } else {
      ExpectCopyBy<kReads, false>(width, start, threads);
    }
  }

 private:
  template <RowReads kReads, bool kWarps>
  void ExpectCopyBy(std::int64_t width, int start, int threads) {
    constexpr int kLength = kWidestVector<T>;
    std::vector<T> in(static_cast<std::size_t>(start + width));
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<T>(i % 61 + 1);
    }
    const ReduceLayout layout = LayoutOf({width});
    const std::int64_t vectors = (width + kLength - 1) / kLength;
    for (const int part : {2 * threads, 1 << 20}) {
      const CopyRow<T, kReads, kWarps> copy{layout, start, part, threads, vectors};
      const std::vector<T> out =
          this->Run(copy, in, static_cast<std::size_t>(width) + 1, static_cast<unsigned>(std::max(threads, 32)));
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
    for (const int threads : {1, 4, 32, 64}) {
      for (int start = 0; start < kLength; ++start) {
        SCOPED_TRACE(std::to_string(width) + " from " + std::to_string(start) + ", " + std::to_string(threads) +
                     " threads");
        this->template ExpectCopy<RowReads::kAny>(width, start, threads);
        if (width % kLength == 0 && start == 0) {
          this->template ExpectCopy<RowReads::kVectors>(width, start, threads);
        } else if (width % kLength != 0 && width % kInPiece == 0 && start % kInPiece == 0) {
          this->template ExpectCopy<RowReads::kPieces>(width, start, threads);
        }
        if constexpr (kInPiece > 1) {
          this->template ExpectCopy<RowReads::kShiftedPieces>(width, start, threads);
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
template <int kLength, ColumnReads kReads>
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
    ColumnWalk<NumberedSum, kLength, kReads> walk(arguments, lanes);
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
  template <int kLength, ColumnReads kReads>
  void ExpectSums(const std::vector<std::int64_t>& extents, int begin, int rows, int lanes) {
    const ReduceLayout layout = LayoutOf(extents);
    std::vector<std::int32_t> in(static_cast<std::size_t>(layout.piece));
    for (std::int32_t& x : in) {
      x = static_cast<std::int32_t>(random_() % 2001) - 1000;
    }
    const auto runs = static_cast<int>(layout.results / layout.run);
    for (int run = 0; run < runs; ++run) {
      const WalkColumns<kLength, kReads> walk{layout, run, begin, rows, lanes};
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
      ExpectSums<4, ColumnReads::kAligned>({320, 16}, 0, rows, lanes);
      ExpectSums<4, ColumnReads::kAligned>({320, 16}, 20, rows, lanes);
      ExpectSums<3, ColumnReads::kUnaligned>({320, 9}, 20, rows, lanes);
      ExpectSums<1, ColumnReads::kAny>({320, 5}, 20, rows, lanes);
      ExpectSums<1, ColumnReads::kAny>({40, 2, 8, 5}, 20, rows, lanes);
    }
  }
}

}  // namespace
}  // namespace kernelwire
