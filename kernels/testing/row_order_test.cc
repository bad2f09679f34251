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

/// Their squares leave f32; sums of two do not.
std::vector<double> HugeValues(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 2 == 0 ? 1e30 : -3e30;
  }
  return values;
}

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

/// A row far from zero, whose first mean must be corrected; one whose squares leave f32; and an ordinary one. They
/// begin everywhere in turn, where a row is no multiple of 16 bytes.
HostTensor ThreeKindsOfRows(DataType dtype, std::int64_t width) {
  const HostTensor ordinary = MakeTensor(dtype, {width}, Values::kNormal, kRowSeed);
  std::vector<double> far = ToDoubles(ordinary);
  for (double& value : far) {
    value = 1000.0 + value;
  }
  const HostTensor kinds[] = {FromDoubles(dtype, {width}, far), FromDoubles(dtype, {width}, HugeValues(width)),
                              ordinary};
  HostTensor three;
  three.desc = TensorDesc{dtype, {3, width}};
  for (const HostTensor& kind : kinds) {
    three.bytes.insert(three.bytes.end(), kind.bytes.begin(), kind.bytes.end());
  }
  return three;
}

/// Three rows over and over in a tensor of `mib` MiB are in each place what they are in a tensor of three. `apart`:
/// elements between the rows of the large one, and those of its results. `begin`: elements that it begins behind where
/// a server would have it; its results begin at other places.
void ExpectRowsOfLargeTensorAlike(const RowOrder& order, std::int64_t width, std::int64_t apart, DeviceRunner& device,
                                  std::size_t mib = 66, std::size_t begin = 0) {
  const auto& [name, row_inputs, parameters, dtype] = order;
  const auto row_bytes = static_cast<std::size_t>(width) * SizeOf(dtype);
  const std::size_t rows = (mib << 20) / row_bytes + 1;
  OperatorCase of_three;
  of_three.name = "three_rows";
  of_three.inputs.assign(static_cast<std::size_t>(row_inputs), ThreeKindsOfRows(dtype, width));
  for (int i = 0; i < parameters; ++i) {
    of_three.inputs.push_back(MakeTensor(dtype, {width}, Values::kUniform, kRowSeed));
  }
  OperatorCase of_many = of_three;
  of_many.name = "three_rows_over_and_over";
  for (std::size_t i = 0; i < static_cast<std::size_t>(row_inputs); ++i) {
    HostTensor& x = of_many.inputs[i];
    const std::vector<std::byte> three = x.bytes;
    x.desc = TensorDesc{dtype, {static_cast<std::int64_t>(rows), width}};
    x.bytes.resize(rows * row_bytes);
    for (std::size_t at = 0; at < x.bytes.size(); at += three.size()) {
      std::memcpy(&x.bytes[at], three.data(), std::min(three.size(), x.bytes.size() - at));
    }
    of_many.layout.input_row_strides[i] = apart > 0 ? width + apart : 0;
    of_many.layout.output_row_strides[i] = apart > 0 ? width + apart : 0;
    of_many.layout.input_offsets[i] = begin > 0 ? (begin + i) % (16 / SizeOf(dtype)) * SizeOf(dtype) : 0;
    of_many.layout.output_offsets[i] = begin > 0 ? (2 * begin + i) % (16 / SizeOf(dtype)) * SizeOf(dtype) : 0;
  }
  const auto three = device.Run(*FindOperator(name), of_three);
  ASSERT_TRUE(three.ok()) << three.status();
  const auto many = device.Run(*FindOperator(name), of_many);
  ASSERT_TRUE(many.ok()) << many.status();
  for (std::size_t i = 0; i < many->size(); ++i) {
    const std::vector<std::byte>& bytes = (*many)[i].bytes;
    if (bytes.size() != rows * row_bytes) {
      continue;  // a statistic
    }
    for (std::size_t row = 0; row < rows; ++row) {
      ASSERT_EQ(std::memcmp(&bytes[row * row_bytes], &(*three)[i].bytes[row % 3 * row_bytes], row_bytes), 0)
          << "width " << width << ", row " << row << " of " << rows << ", output " << i << ", " << apart
          << " apart, from " << begin << " on";
    }
  }
}

/// Rows of large tensors may take another way than those of small ones. On a GPU only: the host has no such ways.
TEST_P(RowOrderTest, RowsOfLargeTensorsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  for (DeviceRunner* const device : AllDeviceRunners()) {
    if (device->name() == "host") {
      continue;
    }
    for (const std::int64_t width :
         {8,     9,     20,     30,     32,     41,     44,     60,     64,     72,     104,
          130,   151,   176,    192,    255,    257,    320,    511,    1001,   2049,   4097,
          40001, 65537, 100001, 131071, 131073, 163840, 190001, 190002, 190004, 262143, 390001}) {
      ExpectRowsOfLargeTensorAlike(GetParam(), width, 0, *device);
    }
    // Whole vectors, which begin everywhere.
    for (const std::int64_t width : {640, 1152, 3072, 12288, 40000, 140000}) {
      ExpectRowsOfLargeTensorAlike(GetParam(), width, 1, *device);
    }
  }
}

/// Those of layer_norm have one in tensors that are larger still, in words of 16-bit elements: rows that half a warp
/// holds, or a warp, in every number of words, and those of blocks. Some begin in the middle of a word, of odd widths.
TEST(LargestTensorsTest, RowsOfTheLargestTensorsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  for (const DataType dtype : {DataType::kBf16, DataType::kFp16}) {
    const RowOrder order{"layer_norm", 1, 2, dtype};
    for (DeviceRunner* const device : AllDeviceRunners()) {
      if (device->name() == "host") {
        continue;
      }
      for (const std::int64_t width : {515, 701, 770, 801, 961, 1153, 1281, 1537, 1601, 1602, 1999, 2301, 2559}) {
        ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 193);
      }
      for (const std::int64_t width : {257, 258, 385, 450, 511}) {
        ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 97);
      }
      for (const std::int64_t width : {2561, 2562, 2564,  3001,  3501,  4097,  5001,  5002,  6001,  7001,  7501, 8001,
                                       8961, 9501, 10501, 12289, 12290, 14001, 16385, 18001, 20001, 20004, 21503}) {
        ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 49);
      }
      for (const std::int64_t width : {257, 258, 301, 351, 385, 511}) {
        ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 13);
      }
      // Clusters of blocks, with every number of threads and words.
      for (const std::int64_t width :
           {21505,  22001,  25001,  28002,  29001,  33001,  40001,  57345,  65537,  65540,  80001,  100001,
            114001, 120001, 131073, 131074, 145001, 160001, 180001, 190001, 200001, 220001, 262145, 286719}) {
        ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 65);
      }
      for (const std::int64_t width : {4097, 9501}) {
        ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 385);
      }
    }
  }
}

/// So have its FP32 rows that blocks share.
TEST(LargestTensorsTest, WideRowsOfTheLargestTensorsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const RowOrder order{"layer_norm", 1, 2, DataType::kFp32};
  for (DeviceRunner* const device : AllDeviceRunners()) {
    if (device->name() == "host") {
      continue;
    }
    for (const std::int64_t width :
         {12001, 16385, 16386, 28001, 50001, 60001, 147455, 147457, 163841, 179201, 190001, 200703}) {
      ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 97);
    }
    for (const std::int64_t width : {65537, 65538, 80001, 90001, 100001, 131073}) {
      ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 49);
    }
  }
}

/// And so have long rows of two inputs.
TEST(LargestTensorsTest, LongRowsOfTwoInputsOfTheLargestTensorsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  for (const DataType dtype : {DataType::kFp32, DataType::kBf16, DataType::kFp16}) {
    const RowOrder order{"add_rms_norm", 2, 1, dtype};
    for (DeviceRunner* const device : AllDeviceRunners()) {
      if (device->name() == "host") {
        continue;
      }
      for (const std::int64_t row_bytes : {280, 320, 512, 640, 1024}) {
        ExpectRowsOfLargeTensorAlike(order, row_bytes * 1024 / static_cast<std::int64_t>(SizeOf(dtype)), 0, *device,
                                     97);
      }
      // An odd one, which is moved on its way.
      ExpectRowsOfLargeTensorAlike(order, 524'288 / static_cast<std::int64_t>(SizeOf(dtype)) - 1, 0, *device, 97);
    }
  }
}

/// So have long rows of one input in whole vectors, which blocks of every number share.
TEST(LargestTensorsTest, LongRowsInVectorsOfTheLargestTensorsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  std::vector<RowOrder> orders = RowOrders();
  orders.push_back({"log_softmax", 1, 0, DataType::kBf16});
  orders.push_back({"log_softmax", 1, 0, DataType::kFp32});
  for (const RowOrder& order : orders) {
    for (DeviceRunner* const device : AllDeviceRunners()) {
      if (device->name() == "host" || order.row_inputs > 1 || order.dtype == DataType::kFp64) {
        continue;
      }
      SCOPED_TRACE(NameOf(order));
      for (const std::int64_t row_bytes :
           {33'040, 163'840, 327'680, 393'216, 507'904, 560'000, 655'360, 737'280, 1'048'576}) {
        ExpectRowsOfLargeTensorAlike(order, row_bytes / static_cast<std::int64_t>(SizeOf(order.dtype)), 0, *device,
                                     129);
      }
      // Odd ones, in words, or moved on their way.
      for (const std::int64_t row_bytes : {262'136, 300'004, 480'004, 700'004, 1'048'572}) {
        ExpectRowsOfLargeTensorAlike(order, row_bytes / static_cast<std::int64_t>(SizeOf(order.dtype)), 0, *device,
                                     129);
      }
    }
  }
}

/// Where a tensor begins makes no difference: rows that lanes share, and blocks, and clusters that stay; each width
/// begins elsewhere.
TEST(LargestTensorsTest, MisalignedRowsAreThoseOfAlignedOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  std::vector<RowOrder> orders = RowOrders();
  orders.push_back({"log_softmax", 1, 0, DataType::kBf16});
  for (const RowOrder& order : orders) {
    const auto size = static_cast<std::int64_t>(SizeOf(order.dtype));
    for (DeviceRunner* const device : AllDeviceRunners()) {
      if (device->name() == "host" || order.dtype == DataType::kFp64) {  // of which there are no kernels of their own
        continue;
      }
      SCOPED_TRACE(NameOf(order));
      std::size_t begin = 0;
      for (const std::int64_t row_bytes :
           {48,     64,     512,    1280,   2032,   2064,    3072,    5120,    6144,    8192,    10'240,
            16'384, 20'480, 33'040, 49'152, 65'536, 163'840, 262'144, 393'216, 655'360, 802'816, 1'048'576}) {
        begin = begin % (16 / static_cast<std::size_t>(size) - 1) + 1;
        const bool is_staged = size == 2 && order.op == std::string("rms_norm") && row_bytes == 393'216;
        const std::size_t mib = row_bytes < 8192 ? 33 : is_staged ? 385 : 129;
        ExpectRowsOfLargeTensorAlike(order, row_bytes / size, 0, *device, mib, begin);
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
