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
#include "kernels/primitives/reduce_steps.h"

namespace kernelwire {
namespace {

class ReduceWalkTest : public testing::DeviceBodyTest {};

ReduceLayout LayoutOf(const std::vector<std::int64_t>& extents) {
  ReduceParams params;
  params.rank = static_cast<std::int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), params.extents);
  return LayOutReduction(params);
}

template <typename T>
constexpr DataType TypeAsWide() {
  return sizeof(T) == 1   ? DataType::kInt8
         : sizeof(T) == 2 ? DataType::kFp16
         : sizeof(T) == 4 ? DataType::kFp32
                          : DataType::kFp64;
}

/// Reads a result whose piece begins at element `start`, in parts of `part` vectors, and writes each element to its
/// number. Leaves a mark behind them where what is not there is not the fill. Each `threads` threads do the same; the
/// first ones write.
template <typename T, RowReads kReads, bool kWarps>
struct CopyRow {
  using In = T;
  using Out = T;
  ReduceArguments arguments;
  int result;
  int start;
  int part;
  int threads;

  __device__ void operator()(const T* in, T* out) const {
    using Rows = ResultRows<T, 1, kReads, kWarps>;
    constexpr int kCount = 2;
    const T fill = static_cast<T>(77);
    ResultPlace place{};
    place.inputs[0] = in + start;
    place.result = result;
    const Rows rows(arguments, place);
    const int lane = static_cast<int>(threadIdx.x) % threads;
    for (std::int64_t begin = 0; begin < arguments.vectors; begin += min(part, kCount * threads)) {
      const auto count = static_cast<int>(min(arguments.vectors - begin, static_cast<std::int64_t>(part)));
      typename Rows::Elements tile[kCount];
      rows.Load(arguments, begin, lane, threads, count, fill, tile);
      const ElementNumbers numbers = Rows::template NumbersOf<kCount>(begin, lane, threads);
      for (int u = 0; u < kCount && static_cast<int>(threadIdx.x) < threads; ++u) {
        for (int j = 0; j < Rows::kLength; ++j) {
          const T value = tile[u].inputs[0].Get(j);
          if ((tile[u].present >> j & 1U) != 0) {
            out[numbers.Of<T>(u, j)] += value;  // twice: wrong
          } else if (value != fill) {
            out[arguments.vectors * Rows::kLength] = 1;
          }
        }
      }
    }
  }
};

template <typename T>
class RowReadsTest : public ReduceWalkTest {
 protected:
  /// Of results over `extents`, as ReduceParams has them, in a piece that begins at element `start`.
  template <RowReads kReads>
  void ExpectCopy(const std::vector<std::int64_t>& extents, int start, int threads) {
    if (threads % 32 == 0) {
      ExpectCopyBy<kReads, true>(extents, start, threads);
    } else {
      ExpectCopyBy<kReads, false>(extents, start, threads);
    }
  }

 private:
  static constexpr int kLength = kWidestVector<T>;

  template <RowReads kReads, bool kWarps>
  void ExpectCopyBy(const std::vector<std::int64_t>& extents, int start, int threads) {
    const ReduceLayout layout = LayoutOf(extents);
    std::vector<T> in(static_cast<std::size_t>((start + layout.piece + kLength - 1) / kLength * kLength));
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<T>(i % 61 + 1);
    }
    ReduceArguments arguments{};
    arguments.layout = layout;
    arguments.vectors = VectorsOfResult(layout, TypeAsWide<T>());
    arguments.aligned = layout.run % kLength == 0 && start % kLength == 0;
    if (kReads == RowReads::kAny) {
      arguments.layout.reduced = MapOfVectors(layout, TypeAsWide<T>());
      arguments.steps = StepsOver(arguments.layout.reduced, threads);
    }
    for (int result = 0; result < layout.results; ++result) {
      for (const int part : {2 * threads, 1 << 20}) {
        const CopyRow<T, kReads, kWarps> copy{arguments, result, start, part, threads};
        const auto numbers = static_cast<std::size_t>(arguments.vectors * kLength);
        const std::vector<T> out = this->Run(copy, in, numbers + 1, static_cast<unsigned>(std::max(threads, 32)));
        const std::size_t first = static_cast<std::size_t>(start + layout.kept.Offset(result));
        ExpectElements(layout, in.data() + first, out);
        EXPECT_EQ(out.back(), T{0}) << "what is not there is not the fill";
      }
    }
  }

  /// Run by run, each from a vector of its own on.
  void ExpectElements(const ReduceLayout& layout, const T* in, const std::vector<T>& out) {
    const std::int64_t vectors_of_run = VectorsOfRun(layout, TypeAsWide<T>());
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
      const std::int64_t run = static_cast<std::int64_t>(i) / (vectors_of_run * kLength);
      const std::int64_t element = static_cast<std::int64_t>(i) % (vectors_of_run * kLength);
      const T expected = element < layout.run ? in[layout.reduced.Offset(run) + element] : T{0};
      ASSERT_EQ(out[i], expected) << "element " << element << " of run " << run;
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
        this->template ExpectCopy<RowReads::kAny>({width}, start, threads);
        if (width % kLength == 0 && start == 0) {
          this->template ExpectCopy<RowReads::kVectors>({width}, start, threads);
        } else if (width % kLength != 0 && width % kInPiece == 0 && start % kInPiece == 0) {
          this->template ExpectCopy<RowReads::kPieces>({width}, start, threads);
        }
        if constexpr (kInPiece > 1) {
          this->template ExpectCopy<RowReads::kShiftedPieces>({width}, start, threads);
        }
      }
    }
  }
}

TYPED_TEST(RowReadsTest, RunsOfSeveralAxesAreReadOnceFromWhereverTheyBegin) {
  const std::vector<std::int64_t> pieces[] = {{5, 2, 1},       {7, 3, 16},       {9, 2, 33},
                                              {3, 2, 5, 2, 7}, {2, 2, 3, 1, 64}, {2, 2, 3, 2, 2, 2, 17}};
  for (const std::vector<std::int64_t>& extents : pieces) {
    for (const int threads : {1, 4, 32}) {
      for (int start = 0; start < kWidestVector<TypeParam>; ++start) {
        SCOPED_TRACE(::testing::PrintToString(extents) + " from " + std::to_string(start) + ", " +
                     std::to_string(threads) + " threads");
        this->template ExpectCopy<RowReads::kAny>(extents, start, threads);
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
  ReduceArguments arguments;
  int run;  // which
  int begin;
  int rows;
  int lanes;
  int start;  // of the piece

  __device__ void operator()(const In* in, Out* out) const {
    ResultPlace place{};
    place.inputs[0] = in + start;
    place.result = run * arguments.layout.run;
    const int across = static_cast<int>(blockDim.x) / lanes;
    const int lane = static_cast<int>(threadIdx.x) / across;
    const int column = static_cast<int>(threadIdx.x) % across * kLength;
    ColumnWalk<NumberedSum, kLength, kReads> walk(arguments, lanes);
    walk.Start(place, column, begin, lane, rows);
    long long sums[kLength] = {};
    walk.Add(NumberedSum{}, 1 << 20, sums);
    for (int j = 0; j < kLength; ++j) {
      out[lane * arguments.layout.run + column + j] = sums[j];
    }
  }
};

class ColumnWalkTest : public ReduceWalkTest {
 protected:
  template <int kLength, ColumnReads kReads>
  void ExpectSums(const std::vector<std::int64_t>& extents, int begin, int rows, int lanes, int start = 0) {
    const ReduceLayout layout = LayoutOf(extents);
    std::vector<std::int32_t> in(static_cast<std::size_t>(start + layout.piece));
    for (std::int32_t& x : in) {
      x = static_cast<std::int32_t>(random_() % 2001) - 1000;
    }
    ReduceArguments arguments{};
    arguments.layout = layout;
    arguments.aligned = (layout.run | start) % kWidestVector<std::int32_t> == 0;
    arguments.steps = StepsOver(layout.reduced, lanes);
    const auto runs = static_cast<int>(layout.results / layout.run);
    for (int run = 0; run < runs; ++run) {
      const WalkColumns<kLength, kReads> walk{arguments, run, begin, rows, lanes, start};
      const auto columns = static_cast<int>(layout.run);
      const std::vector<long long> out =
          Run(walk, in, static_cast<std::size_t>(lanes * columns), static_cast<unsigned>(lanes * columns / kLength));
      for (int i = 0; i < lanes * columns; ++i) {
        long long sum = 0;
        for (int row = begin + i / columns; row < begin + rows; row += lanes) {
          const std::int64_t at = start + layout.kept.Offset(run) + layout.reduced.Offset(row) + i % columns;
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
      ExpectSums<4, ColumnReads::kUnaligned>({320, 12}, 20, rows, lanes, 3);
      ExpectSums<1, ColumnReads::kAny>({320, 5}, 20, rows, lanes);
      ExpectSums<1, ColumnReads::kAny>({40, 2, 8, 5}, 20, rows, lanes);
      ExpectSums<4, ColumnReads::kAny>({40, 2, 8, 16}, 20, rows, lanes);
      ExpectSums<4, ColumnReads::kAny>({4, 2, 10, 2, 8, 12}, 20, rows, lanes, 1);
      ExpectSums<1, ColumnReads::kAny>({2, 2, 2, 2, 10, 2, 8, 5}, 20, rows, lanes);
    }
  }
}

}  // namespace
}  // namespace kernelwire
