// A row gives the same bits however many rows come with it: the number of rows may decide which threads work on a row,
// but never in which order its elements are combined.
#include "kernels/testing/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

class RowOrderTest : public ::testing::TestWithParam<RowOrder> {};

/// The first row of `width` elements has the same bits in tensors of one, some and many rows; `parameters` of the rows'
/// type make a launch a usual one, which has kernels of its own.
void ExpectFirstRowAlike(const RowOrder& order, std::int64_t width, int parameters, DeviceRunner& device) {
  const auto row_bytes = width * static_cast<std::int64_t>(SizeOf(order.dtype));
  // On the host nothing changes any more once there are eight long rows, or rows for every thread.
  const std::int64_t most = device.name() == "host" ? std::max<std::int64_t>(9, (std::int64_t{4} << 20) / row_bytes)
                                                    : std::max<std::int64_t>(1, (std::int64_t{66} << 20) / row_bytes);
  std::vector<std::byte> alone;
  std::set<std::int64_t> counts = {1};
  for (const std::int64_t mib : {3, 20, 66}) {
    counts.insert(std::clamp<std::int64_t>((mib << 20) / row_bytes, 1, most));
  }
  for (const std::int64_t rows : counts) {
    const OperatorCase test_case = CaseOfRows(order, rows, width, parameters);
    const auto outputs = device.Run(*FindOperator(order.op), test_case);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<std::byte>& bytes = (*outputs)[0].bytes;
    ASSERT_GE(bytes.size(), static_cast<std::size_t>(row_bytes));
    const std::vector<std::byte> first(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(row_bytes));
    alone = alone.empty() ? first : alone;
    EXPECT_TRUE(first == alone) << device.name() << ", width " << width << ", " << rows << " rows, " << parameters
                                << " parameters";
  }
}

TEST_P(RowOrderTest, BitsDoNotFollowTheNumberOfRows) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  for (DeviceRunner* const device : AllDeviceRunners()) {
    // Widths with every kind of tuning for one, some and many rows, the last ones read twice; odd ones begin rows
    // anywhere.
    const std::vector<std::int64_t> widths = {1200, 1537, 5000, 10240, 12289, 18432, 40000, 40001, 150000};
    // Blocks of clusters with shares of any number of warps, in shared memory some of them, and rows that are walked
    // over.
    const std::vector<std::int64_t> long_rows = {20480,  57344,  81920,  98304,  114688,  131071, 131073,
                                                 163840, 180224, 190001, 262143, 600'000, 600'001};
    for (const std::int64_t width : WidthsFor(*device, widths, long_rows)) {
      ExpectFirstRowAlike(GetParam(), width, 0, *device);
      if (GetParam().parameters > 0) {
        ExpectFirstRowAlike(GetParam(), width, GetParam().parameters, *device);
      }
    }
  }
}

/// A request that is alone in its launch has kernels of its own, if it is as most are; among others it gives the same
/// bits. Rows of every kind of tuning: in whole vectors, in halves of them, and of any length.
TEST_P(RowOrderTest, TheUsualLaunchChangesNoBit) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const Operator& op = *FindOperator(GetParam().op);
  const auto compare = [&](DeviceRunner& device, std::int64_t rows, std::int64_t width) {
    const OperatorCase request = CaseOfRows(GetParam(), rows, width);
    const OperatorCase other = CaseOfRows(GetParam(), 1, width);
    const auto alone = device.Run(op, request);
    ASSERT_TRUE(alone.ok()) << alone.status();
    const auto together = device.RunBatch(op, {&other, &request});
    ASSERT_TRUE(together.ok()) << together.status();
    for (std::size_t i = 0; i < alone->size(); ++i) {
      EXPECT_TRUE(SameBits((*together)[1][i], (*alone)[i]))
          << device.name() << ", " << request.name << ", output " << i;
    }
  };
  const std::vector<std::int64_t> widths = {
      7,    16,   20,   30,   32,    44,    60,    64,    100,   101,   141,   173,   254,    256,   257,
      320,  333,  508,  513,  661,   764,   768,   1000,  1001,  1024,  1025,  1301,  1537,   1999,  2048,
      3000, 4097, 5000, 8192, 12289, 16384, 18432, 24580, 33001, 40000, 65536, 65540, 131073, 150000};
  for (DeviceRunner* const device : AllDeviceRunners()) {
    for (const std::int64_t width : WidthsFor(*device, widths, {210001, 600'001})) {
      compare(*device, std::max<std::int64_t>(3, 30000 / width), width);
    }
  }
  // Long rows, and more of them, which a GPU holds in other ways.
  for (const std::int64_t width : {18432, 40000, 131073}) {
    for (const std::int64_t mib : {8, 66}) {
      for (DeviceRunner* const device : AllDeviceRunners()) {
        if (device->name() != "host") {
          compare(*device, (mib << 20) / (width * static_cast<std::int64_t>(SizeOf(GetParam().dtype))), width);
        }
      }
    }
  }
}

/// Rows of whole vectors, few, some and many of them, that begin off a boundary of 16 bytes, each by another distance,
/// as do their results.
TEST_P(RowOrderTest, WhereLongRowsBeginChangesNoBit) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const Operator& op = *FindOperator(GetParam().op);
  const auto size = static_cast<std::int64_t>(SizeOf(GetParam().dtype));
  for (const std::int64_t width :
       {640, 1152, 1536, 2560, 3000, 8192, 12296, 18432, 40000, 57344, 81920, 140000, 250000}) {
    for (const std::int64_t mib : {1, 8, 20, 66}) {
      const std::int64_t rows = std::max<std::int64_t>(3, (mib << 20) / (width * size));
      const OperatorCase dense = CaseOfRows(GetParam(), rows, width);
      OperatorCase apart = dense;
      for (int i = 0; i < GetParam().row_inputs; ++i) {
        apart.layout.input_row_strides[static_cast<std::size_t>(i)] = width + 1 + i;
        apart.layout.output_row_strides[static_cast<std::size_t>(i)] = width + 3 + i;
      }
      for (DeviceRunner* const device : AllDeviceRunners()) {
        if (device->name() == "host" && mib > 1) {
          continue;
        }
        const auto expected = device->Run(op, dense);
        ASSERT_TRUE(expected.ok()) << expected.status();
        const auto outputs = device->Run(op, apart);
        ASSERT_TRUE(outputs.ok()) << outputs.status();
        for (std::size_t i = 0; i < expected->size(); ++i) {
          EXPECT_TRUE(SameBits((*outputs)[i], (*expected)[i]))
              << device->name() << ", " << dense.name << ", output " << i;
        }
      }
    }
  }
}

/// A row that is computed in f64 takes part in one reduction more than others: those that come after it, worked on by
/// the same threads, must not notice.
TEST_P(RowOrderTest, RowsThatLeaveF32DoNotTroubleTheNext) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const auto& [name, row_inputs, parameters, dtype] = GetParam();
  // So many that blocks, and clusters, have several rows each; of the shortest a warp has some of either kind, and the
  // longest are walked over.
  for (DeviceRunner* const device : AllDeviceRunners()) {
    for (const std::int64_t width :
         WidthsFor(*device, {20, 64, 100, 200, 101, 10001, 20480, 30001, 150000}, {190'001, 600'000, 600'001})) {
      const std::int64_t rows = device->name() == "host" ? 9 : width > 100'000 ? 60 : 999;
      const auto row_bytes = static_cast<std::size_t>(width) * SizeOf(dtype);
      OperatorCase test_case;
      test_case.name = "every_third_row_is_huge";
      const HostTensor ordinary = MakeTensor(dtype, {width}, Values::kNormal, kRowSeed);
      const HostTensor huge = FromDoubles(dtype, {width}, HugeValues(width));
      HostTensor x;
      x.desc = TensorDesc{dtype, {rows, width}};
      for (std::int64_t row = 0; row < rows; ++row) {
        const HostTensor& source = row % 3 == 1 ? huge : ordinary;
        x.bytes.insert(x.bytes.end(), source.bytes.begin(), source.bytes.end());
      }
      test_case.inputs.assign(static_cast<std::size_t>(row_inputs), x);
      const auto outputs = device->Run(*FindOperator(name), test_case);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      const std::vector<std::byte>& bytes = (*outputs)[0].bytes;
      ASSERT_EQ(bytes.size(), row_bytes * static_cast<std::size_t>(rows));
      for (std::size_t row = 3; row < static_cast<std::size_t>(rows); ++row) {
        EXPECT_EQ(std::memcmp(&bytes[row * row_bytes], &bytes[row % 3 * row_bytes], row_bytes), 0)
            << device->name() << ", width " << width << ", row " << row << " of " << rows;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RowOrderTest, ::testing::ValuesIn(RowOrders()),
                         [](const auto& suite) { return NameOf(suite.param); });

}  // namespace
}  // namespace kernelwire::testing
