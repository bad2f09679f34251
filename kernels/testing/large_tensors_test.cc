// Rows of large tensors, which may take another way than those of small ones, give the same bits as these. On a GPU
// only: the host has no such ways.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/row_order.h"

namespace kernelwire::testing {
namespace {

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

class LargeTensorsTest : public ::testing::TestWithParam<RowOrder> {};

TEST_P(LargeTensorsTest, RowsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  for (DeviceRunner* const device : AllDeviceRunners()) {
    if (device->name() == "host") {
      continue;
    }
    for (const std::int64_t width :
         {8,      9,      20,     30,     32,     41,     44,     60,     64,     72,    104,   130,
          151,    176,    192,    255,    257,    320,    511,    1001,   2049,   4097,  40001, 65537,
          100001, 131071, 131073, 150001, 163840, 190001, 190002, 190004, 262143, 390001}) {
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
      for (const std::int64_t row_bytes : {33'040, 163'840, 200'000, 270'000, 327'680, 340'000, 393'216, 400'128,
                                           507'904, 524'416, 560'000, 655'360, 737'280, 1'048'576}) {
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

/// 16-bit ones of softmax stay as they lie in memory (row_words_unmoved.cuh): in every number of threads and words, in
/// rows that begin with a word, or in the middle of one beside a row whose elements are infinite in FP16.
TEST(LargestTensorsTest, OddRowsOfSoftmaxOfTheLargestTensorsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  for (const char* const op : {"softmax", "log_softmax"}) {
    for (const DataType dtype : {DataType::kBf16, DataType::kFp16}) {
      const RowOrder order{op, 1, 0, dtype};
      SCOPED_TRACE(NameOf(order));
      for (DeviceRunner* const device : AllDeviceRunners()) {
        if (device->name() == "host") {
          continue;
        }
        for (const std::int64_t width : {50257, 57345, 80001, 90002, 100277, 114687, 119547, 125001, 131073, 147001,
                                         151643, 170001, 180001, 200019, 210001, 225001, 235001, 245001}) {
          ExpectRowsOfLargeTensorAlike(order, width, 0, *device, 65);
        }
        ExpectRowsOfLargeTensorAlike(order, 22001, 0, *device, 385);
        ExpectRowsOfLargeTensorAlike(order, 33001, 0, *device, 385);
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
           {48,     64,     512,    1280,   2032,    2064,    3072,    5120,    6144,    8192,    10'240,  16'384,
            20'480, 33'040, 49'152, 65'536, 163'840, 262'144, 393'216, 400'128, 560'000, 655'360, 802'816, 1'048'576}) {
        begin = begin % (16 / static_cast<std::size_t>(size) - 1) + 1;
        const bool is_staged = size == 2 && order.op == std::string("rms_norm") && row_bytes == 393'216;
        const std::size_t mib = row_bytes < 8192 ? 33 : is_staged ? 385 : 129;
        ExpectRowsOfLargeTensorAlike(order, row_bytes / size, 0, *device, mib, begin);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, LargeTensorsTest, ::testing::ValuesIn(RowOrders()),
                         [](const auto& suite) { return NameOf(suite.param); });

}  // namespace
}  // namespace kernelwire::testing
