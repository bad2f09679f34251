// A row's result follows from its elements alone: not from how many rows there are, on which the choice of kernel
// depends, nor from which of them it is. And what is chosen (TuneReducedRows) keeps to that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/launch_arrivals.h"
#include "kernels/primitives/reduce_tuning.h"
#include "kernels/primitives/tile_bytes.h"
#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint64_t kOrderSeed = 29;

struct ReduceOrder {
  const char* op;
  DataType dtype;
};

class ReduceOrderTest : public ::testing::TestWithParam<ReduceOrder> {};

/// Over `axes`, in as many bits as there are: where results are rounded to few, two ways to them seldom differ.
AttributeList InFullOver(const std::string& axes, const ReduceOrder& order) {
  AttributeList attributes = Axes(axes);
  const std::string op = order.op;
  if (IsFloat(order.dtype) && op.rfind("arg", 0) != 0) {
    attributes.emplace_back("accumulator", std::string(order.dtype == DataType::kFp64 ? "FP64" : "FP32"));
    attributes.emplace_back("output_type", std::string("FP64"));
  }
  return attributes;
}

/// Whether the results of parts of the first axis, which `axes` leaves, are what they are among all of it.
void ExpectAsAmongAll(DeviceRunner& device, const ReduceOrder& order, const HostTensor& x, const std::string& axes) {
  const Operator& op = *FindOperator(order.op);
  const AttributeList attributes = InFullOver(axes, order);
  const auto all = device.Run(op, ReductionOf(x, attributes));
  ASSERT_TRUE(all.ok()) << all.status();
  const std::int64_t rows = x.desc.shape[0];
  const auto size = static_cast<std::int64_t>(all->front().bytes.size()) / rows;
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {rows / 2, 3}, {rows - 1, 1}}) {
    const auto few = device.Run(op, ReductionOf(PartOf(x, first, count), attributes));
    ASSERT_TRUE(few.ok()) << few.status();
    const std::vector<std::byte>& bytes = few->front().bytes;
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), all->front().bytes.begin() + first * size))
        << device.name() << ", " << x.desc.shape.ToString() << " over " << axes << ", " << count << " from " << first
        << " on";
  }
}

/// Every way to share a row out, on either side of where it changes, in whole vectors, whole pieces and ragged.
constexpr std::int64_t kOrderWidths[] = {1,    2,    3,    5,    6,     8,     13,    16,    30,    33,
                                         64,   66,   100,  101,  128,   230,   256,   257,   300,   512,
                                         600,  900,  1000, 1001, 1002,  1024,  2046,  2050,  4096,  4100,
                                         5001, 5002, 8192, 8200, 12289, 16386, 40000, 66000, 66001, 66002};

TEST_P(ReduceOrderTest, ARowGivesTheSameBitsAmongManyAsAmongFew) {
  SCOPED_TRACE("seed " + std::to_string(kOrderSeed));
  const DataType dtype = GetParam().dtype;
  for (DeviceRunner* const device : AllDeviceRunners()) {
    // On a GPU so many that each thread has several short rows; the host has one way only.
    const bool host = device->name() == "host";
    const std::int64_t elements = host ? 1 << 14 : 1 << 21;
    for (const std::int64_t width : kOrderWidths) {
      const std::int64_t rows = std::clamp<std::int64_t>(elements / width, host ? 5 : 40, 200000);
      const HostTensor x = DrawNormal(dtype, {rows, width}, kOrderSeed + static_cast<std::uint64_t>(width));
      ExpectAsAmongAll(*device, GetParam(), x, "1");
    }
  }
}

/// Two requests share a launch, which has other kernels for rows so short than one has.
TEST_P(ReduceOrderTest, AShortRowGivesTheSameBitsInCompany) {
  SCOPED_TRACE("seed " + std::to_string(kOrderSeed));
  const Operator& op = *FindOperator(GetParam().op);
  for (DeviceRunner* const device : AllDeviceRunners()) {
    for (std::int64_t width = 1; width <= 40; ++width) {
      const HostTensor x = DrawNormal(GetParam().dtype, {64, width}, kOrderSeed + static_cast<std::uint64_t>(width));
      const OperatorCase test_case = ReductionOf(x, InFullOver("1", GetParam()));
      const auto alone = device->Run(op, test_case);
      const auto together = device->RunBatch(op, {&test_case, &test_case});
      ASSERT_TRUE(alone.ok() && together.ok()) << alone.status() << together.status();
      for (const std::vector<HostTensor>& outputs : *together) {
        EXPECT_TRUE(outputs.front().bytes == alone->front().bytes) << device->name() << ", width " << width;
      }
    }
  }
}

TEST_P(ReduceOrderTest, AShortRowOfSpecialNumbersGivesTheSameBitsInCompany) {
  const auto& [name, dtype] = GetParam();
  const Operator& op = *FindOperator(name);
  const double least = dtype == DataType::kUint8 ? 0 : -128;
  const std::vector<double> numbers = !IsFloat(dtype)
                                          ? std::vector<double>{least, 127, 0, 1, 77, least, 3, 5}
                                          : std::vector<double>{kNan, -0.0, kInfinity, -kInfinity, 0.0, -1, 1, -0.0, 3};
  for (DeviceRunner* const device : AllDeviceRunners()) {
    for (std::int64_t width = 1; width <= 17; ++width) {
      std::vector<double> x;
      for (std::size_t i = 0; i < static_cast<std::size_t>(64 * width); ++i) {
        x.push_back(numbers[(i * i + i / 7) % numbers.size()]);
      }
      const OperatorCase test_case = ReductionOf(FromDoubles(dtype, {64, width}, x), InFullOver("1", GetParam()));
      const auto alone = device->Run(op, test_case);
      const auto together = device->RunBatch(op, {&test_case, &test_case});
      ASSERT_TRUE(alone.ok() && together.ok()) << alone.status() << together.status();
      for (const std::vector<HostTensor>& outputs : *together) {
        EXPECT_EQ(outputs.front().bytes, alone->front().bytes) << device->name() << ", width " << width;
      }
    }
  }
}

TEST_P(ReduceOrderTest, AShortColumnGivesTheSameBitsAmongManyAsAmongFew) {
  SCOPED_TRACE("seed " + std::to_string(kOrderSeed));
  const DataType dtype = GetParam().dtype;
  for (DeviceRunner* const device : AllDeviceRunners()) {
    // Of most so many that threads have vectors of them (FP32 that begins anywhere goes one by one), and single ones
    // among few.
    const std::int64_t pieces = device->name() == "host" ? 5 : 16500;
    for (const Shape& shape : {Shape{pieces, 3, 64}, Shape{pieces, 8, 16}, Shape{pieces, 5, 7}, Shape{pieces, 4, 67},
                               Shape{pieces, 9, 64}, Shape{pieces, 12, 33}, Shape{pieces, 16, 16}}) {
      ExpectAsAmongAll(*device, GetParam(), DrawNormal(dtype, shape, kOrderSeed), "1");
    }
  }
}

/// Rows and columns of several runs; those of columns so many that threads have vectors of them among many, and single
/// ones among few.
TEST_P(ReduceOrderTest, AResultOverSeveralAxesGivesTheSameBitsAmongManyAsAmongFew) {
  SCOPED_TRACE("seed " + std::to_string(kOrderSeed));
  const auto& [name, dtype] = GetParam();
  const std::string axes = std::string(name).rfind("arg", 0) == 0 ? "1" : "1,3";
  for (DeviceRunner* const device : AllDeviceRunners()) {
    const std::int64_t pieces = device->name() == "host" ? 5 : 64;
    for (const Shape& shape : {Shape{pieces, 3, 5, 100}, Shape{pieces, 9, 2, 1001}, Shape{pieces, 40, 2, 512},
                               Shape{pieces, 9, 4, 20, 66}, Shape{pieces, 9, 4, 20, 64}, Shape{pieces, 2, 3, 5, 7}}) {
      ExpectAsAmongAll(*device, GetParam(), DrawNormal(dtype, shape, kOrderSeed), axes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ReduceOrderTest,
    ::testing::Values(ReduceOrder{"sum", DataType::kFp32}, ReduceOrder{"sum", DataType::kBf16},
                      ReduceOrder{"sum", DataType::kFp8E4m3}, ReduceOrder{"mean", DataType::kFp64},
                      ReduceOrder{"prod", DataType::kFp32}, ReduceOrder{"prod", DataType::kFp16},
                      ReduceOrder{"max", DataType::kFp16}, ReduceOrder{"min", DataType::kFp32},
                      ReduceOrder{"min", DataType::kBf16}, ReduceOrder{"argmax", DataType::kFp32},
                      ReduceOrder{"argmax", DataType::kBf16}, ReduceOrder{"argmin", DataType::kInt8},
                      ReduceOrder{"logsumexp", DataType::kFp32}, ReduceOrder{"logsumexp", DataType::kBf16},
                      ReduceOrder{"l2_norm", DataType::kFp32}, ReduceOrder{"l2_norm", DataType::kBf16},
                      ReduceOrder{"l2_norm", DataType::kFp16}, ReduceOrder{"l2_norm", DataType::kInt8},
                      ReduceOrder{"prod", DataType::kFp8E4m3}, ReduceOrder{"max", DataType::kFp8E5m2},
                      ReduceOrder{"max", DataType::kInt32}, ReduceOrder{"min", DataType::kFp64},
                      ReduceOrder{"argmax", DataType::kFp8E4m3}, ReduceOrder{"argmin", DataType::kInt64},
                      ReduceOrder{"argmax", DataType::kUint8}, ReduceOrder{"logsumexp", DataType::kFp8E4m3},
                      ReduceOrder{"sum", DataType::kInt32}),
    [](const auto& suite) { return std::string(suite.param.op) + "_" + NameOf(suite.param.dtype); });

constexpr ReduceDevice kReduceDevices[] = {{132, true}, {46, false}, {1, true}};
constexpr std::int64_t kResultCounts[] = {1, 2, 7, 100, 1000, 1025, 100000, std::int64_t{1} << 40};

void ExpectShortRows(const ReduceTuning& tuning, std::int64_t vectors) {
  EXPECT_EQ(tuning.block_threads % 32, 0);
  EXPECT_EQ(tuning.block_threads % tuning.threads, 0) << "blocks have whole rows";
  if (tuning.method == ReduceTuning::Method::kRowBlocks) {
    EXPECT_EQ(tuning.block_threads, tuning.threads);
    EXPECT_LE(tuning.block_threads, kLongRowBlock);
    return;
  }
  EXPECT_EQ(tuning.method, ReduceTuning::Method::kShortRows);
  EXPECT_LE(tuning.block_threads, kShortRowBlock);
  EXPECT_GE(std::int64_t{tuning.threads} * tuning.vectors, vectors) << "all of a row is in flight at once";
  EXPECT_LE(tuning.rows_of_thread * tuning.vectors, kVectorsInFlight);
  EXPECT_TRUE(tuning.rows_of_thread == 1 || tuning.threads <= 32) << "all threads know what they store";
}

TEST(ReduceTuningTest, ShortRowsAreSharedByAsManyThreadsWhateverTheirNumber) {
  for (const ReduceDevice& device : kReduceDevices) {
    for (const RowShares shares : {RowShares::kVectors, RowShares::kPieces, RowShares::kRagged}) {
      for (std::int64_t vectors = 0; vectors <= 2048; vectors += vectors < 300 ? 1 : 37) {
        const ReducedRows rows = {vectors, shares, vectors % 3 == 0, vectors % 5 == 0, vectors % 2 == 0};
        for (const std::int64_t results : kResultCounts) {
          for (const bool own : {false, true}) {
            const ReduceTuning tuning = TuneReducedRows(rows, CutIntoParts(vectors, 2048), results, own, device);
            SCOPED_TRACE(std::to_string(vectors) + " vectors, " + std::to_string(results) + ": " + tuning.ToString());
            EXPECT_EQ(tuning.threads, ThreadsOfRow(rows));
            ExpectShortRows(tuning, vectors);
          }
        }
      }
    }
  }
}

TEST(ReduceTuningTest, OddRowsOfLargeTensorsAskAheadForThoseThatABlockBeginsWith) {
  for (const ReduceDevice& device : kReduceDevices) {
    for (const std::int64_t vectors : {5, 33, 126, 513}) {
      const ReduceParts parts = CutIntoParts(vectors, 2048);
      ReducedRows rows = {vectors, RowShares::kPieces, true};
      const ReduceTuning large = TuneReducedRows(rows, parts, 10'000'000, true, device);
      SCOPED_TRACE(std::to_string(vectors) + " vectors: " + large.ToString());
      EXPECT_GT(large.rows_ahead, 0);
      if (large.method == ReduceTuning::Method::kShortRows) {
        EXPECT_EQ(large.rows_ahead % (large.block_threads / large.threads * large.rows_of_thread), 0);
      }
      EXPECT_EQ(TuneReducedRows(rows, parts, 100, true, device).rows_ahead, 0) << "rows that all begin at once";
      rows.odd = false;
      EXPECT_EQ(TuneReducedRows(rows, parts, 10'000'000, true, device).rows_ahead, 0) << "memory is busy as it is";
    }
  }
}

TEST(ReduceTuningTest, RowsOfATileAreNoMoreThanItHasRoomFor) {
  for (const ReduceDevice& device : kReduceDevices) {
    for (std::int64_t row_bytes = 1; row_bytes <= kMostBytesOfTiledRow; ++row_bytes) {
      const ReducedRows rows = {1, RowShares::kPieces, false, false, false, false, row_bytes};
      for (const std::int64_t results : kResultCounts) {
        const ReduceTuning tuning = TuneReducedRows(rows, CutIntoParts(1, 2048), results, true, device);
        SCOPED_TRACE(std::to_string(row_bytes) + " bytes, " + std::to_string(results) + ": " + tuning.ToString());
        EXPECT_EQ(tuning.method, ReduceTuning::Method::kTiledRows);
        EXPECT_LE(tuning.block_threads * tuning.rows_of_thread * row_bytes, kTileBytes);
        EXPECT_TRUE(tuning.rows_of_thread == 1 || results > 65536);
      }
      EXPECT_EQ(ThreadsOfRow(rows), 1) << "as those of several requests, in the same order";
    }
  }
}

TEST(ReduceTuningTest, WhereAnyOrderWillDoAFewShortRowsHaveMoreThreads) {
  const ReduceDevice& device = kReduceDevices[0];
  const ReduceParts parts = CutIntoParts(128, 2048);
  ReducedRows rows = {128, RowShares::kVectors, false, false, true};
  EXPECT_EQ(TuneReducedRows(rows, parts, 256, true, device).threads, 16);
  rows.any_order = true;
  const ReduceTuning few = TuneReducedRows(rows, parts, 256, true, device);
  EXPECT_EQ(few.threads, 32);
  ExpectShortRows(few, rows.vectors);
  EXPECT_EQ(TuneReducedRows(rows, parts, 100000, true, device).threads, 16);
}

TEST(ReduceTuningTest, LongRowsAreSharedByBlocksThatCanMeet) {
  for (const ReduceDevice& device : kReduceDevices) {
    for (const std::int64_t vectors : {2049, 4096, 16384, 16385, 100000, 1 << 20, 1 << 26}) {
      for (const std::int64_t results : kResultCounts) {
        const ReduceParts parts = CutIntoParts(vectors, 2048);
        const ReduceTuning tuning = TuneReducedRows({vectors}, parts, results, true, device);
        SCOPED_TRACE(std::to_string(vectors) + " vectors, " + std::to_string(results) + ": " + tuning.ToString());
        EXPECT_EQ(tuning.method, ReduceTuning::Method::kLongRows);
        EXPECT_EQ(tuning.block_threads, kLongRowBlock);
        EXPECT_EQ(parts.slots % tuning.blocks, 0) << "a slot is one block's alone";
        switch (tuning.sharing) {
          case PartSharing::kBlock:
            EXPECT_EQ(tuning.blocks, 1);
            break;
          case PartSharing::kCluster:
            EXPECT_TRUE(device.clusters);
            EXPECT_LE(tuning.blocks, 8);
            break;
          case PartSharing::kGrid:
            EXPECT_LE(2 * results * tuning.blocks, kLaunchArrivals);
            EXPECT_GT(tuning.blocks, 1);
            break;
        }
      }
    }
  }
}

TEST(ReduceTuningTest, LanesOfColumnsFollowFromTheirHeight) {
  for (const std::int64_t height : {1, 8, 9, 16, 18, 64, 200, 5000}) {
    ReduceLayout layout;
    layout.columns = true;
    layout.width = height;
    int lanes = 0;
    for (const std::int64_t run : {1, 3, 16, 64, 1000, 100000}) {
      layout.run = run;
      for (const int columns_of_thread : {1, 4}) {
        const ReduceParts parts = CutIntoParts(height, 512);
        const ReduceTuning tuning = TuneColumns(layout, parts, 7 * run, columns_of_thread, height % 2 == 0);
        SCOPED_TRACE(std::to_string(run) + " columns of " + std::to_string(height) + ": " + tuning.ToString());
        const bool at_once = height == 8 || height == 16;  // the only even ones that a thread can have in flight
        EXPECT_EQ(tuning.method, at_once ? ReduceTuning::Method::kShortColumns : ReduceTuning::Method::kColumns);
        const ColumnGrid& grid = tuning.columns;
        EXPECT_TRUE(lanes == 0 || grid.lanes == lanes);
        lanes = grid.lanes;
        EXPECT_GE(grid.tiles * grid.across.divisor * columns_of_thread, run);
        EXPECT_EQ(grid.items, 7 * grid.tiles * parts.count);
        EXPECT_LE(grid.items_of_block * grid.threads.divisor, tuning.block_threads);
        for (int number = 0; number < 512; ++number) {
          ASSERT_EQ(grid.threads.Quotient(number), number / grid.threads.divisor);
          ASSERT_EQ(grid.across.Quotient(number), number / grid.across.divisor);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing
