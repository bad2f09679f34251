// A row gives the same bits however many rows come with it: the number of rows may decide which threads work on a row,
// but never in which order its elements are combined.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint64_t kRowSeed = 7;

/// Random elements over and over, a prime number of them: no two rows are alike, and the first ones are the same
/// however many follow.
HostTensor FirstRows(DataType dtype, std::int64_t rows, std::int64_t width, std::uint64_t seed) {
  const HostTensor drawn = MakeTensor(dtype, {100'003}, Values::kNormal, seed);
  HostTensor tensor;
  tensor.desc = TensorDesc{dtype, {rows, width}};
  const std::size_t bytes = *tensor.desc.ByteSize();
  tensor.bytes.reserve(bytes + drawn.bytes.size());
  while (tensor.bytes.size() < bytes) {
    tensor.bytes.insert(tensor.bytes.end(), drawn.bytes.begin(), drawn.bytes.end());
  }
  tensor.bytes.resize(bytes);
  return tensor;
}

/// Their squares leave f32; sums of two do not.
std::vector<double> HugeValues(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 2 == 0 ? 1e30 : -3e30;
  }
  return values;
}

struct RowOrder {
  const char* op;
  int row_inputs;
  int parameters;
  DataType dtype;
};

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
    OperatorCase test_case;
    test_case.name = "rows_" + std::to_string(rows);
    for (int i = 0; i < order.row_inputs; ++i) {
      test_case.inputs.push_back(FirstRows(order.dtype, rows, width, kRowSeed + static_cast<std::uint64_t>(i)));
    }
    for (int i = 0; i < parameters; ++i) {
      test_case.inputs.push_back(
          MakeTensor(order.dtype, {width}, Values::kUniform, kRowSeed + static_cast<std::uint64_t>(i)));
    }
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
    std::vector<std::int64_t> widths = {1200, 1537, 5000, 10240, 12289, 18432, 40000, 40001, 600'000, 600'001};
    if (device->name() != "host") {  // blocks of clusters with shares of any number of warps
      widths.insert(widths.end(), {20480, 57344, 81920, 98304, 114688, 163840, 180224});
    }
    for (const std::int64_t width : widths) {
      ExpectFirstRowAlike(GetParam(), width, 0, *device);
      if (GetParam().parameters > 0) {
        ExpectFirstRowAlike(GetParam(), width, GetParam().parameters, *device);
      }
    }
  }
}

/// Rows that lanes share, each as it is alone: of whole vectors, of half a vector more, and of any length; so many that
/// several blocks have some, and the last has fewer.
TEST_P(RowOrderTest, ShortRowsHaveTheBitsThatTheyHaveAlone) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const auto& [name, row_inputs, parameters, dtype] = GetParam();
  const Operator& op = *FindOperator(name);
  constexpr std::int64_t kRows = 1001;
  for (const std::int64_t width : {1,   2,   5,   12,  13,  18,  23,  30,  31,  36,   64,   100,  101, 139,
                                   177, 254, 257, 333, 380, 506, 508, 513, 764, 1000, 1004, 1025, 1401}) {
    const auto row_bytes = static_cast<std::ptrdiff_t>(width) * static_cast<std::ptrdiff_t>(SizeOf(dtype));
    OperatorCase together;
    together.name = "width_" + std::to_string(width);
    for (int i = 0; i < row_inputs; ++i) {
      together.inputs.push_back(FirstRows(dtype, kRows, width, kRowSeed + static_cast<std::uint64_t>(i)));
    }
    for (int i = 0; i < parameters; ++i) {
      together.inputs.push_back(MakeTensor(dtype, {width}, Values::kUniform, kRowSeed + static_cast<std::uint64_t>(i)));
    }
    for (DeviceRunner* const device : AllDeviceRunners()) {
      const auto of_all = device->Run(op, together);
      ASSERT_TRUE(of_all.ok()) << of_all.status();
      for (const std::int64_t row : {std::int64_t{0}, std::int64_t{3}, std::int64_t{500}, kRows - 2, kRows - 1}) {
        OperatorCase alone = together;
        for (std::size_t i = 0; i < static_cast<std::size_t>(row_inputs); ++i) {
          const auto begin = together.inputs[i].bytes.begin() + row * row_bytes;
          alone.inputs[i].desc = TensorDesc{dtype, {1, width}};
          alone.inputs[i].bytes.assign(begin, begin + row_bytes);
        }
        const auto of_one = device->Run(op, alone);
        ASSERT_TRUE(of_one.ok()) << of_one.status();
        for (std::size_t i = 0; i < of_all->size(); ++i) {
          const std::vector<std::byte>& bytes = (*of_all)[i].bytes;
          if (bytes.size() == static_cast<std::size_t>(kRows * row_bytes)) {  // not a statistic
            EXPECT_EQ(std::memcmp(bytes.data() + row * row_bytes, (*of_one)[i].bytes.data(), (*of_one)[i].bytes.size()),
                      0)
                << device->name() << ", width " << width << ", row " << row << ", output " << i;
          }
        }
      }
    }
  }
}

/// Two requests share a launch, which has other kernels than one has.
TEST_P(RowOrderTest, AShortRowOfSpecialNumbersGivesTheSameBitsInCompany) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const auto& [name, row_inputs, parameters, dtype] = GetParam();
  const Operator& op = *FindOperator(name);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNumbers[] = {kNan, -0.0, kInfinity, -kInfinity, 0.0, -1, 1, -0.0, 3, 5, -7};
  for (DeviceRunner* const device : AllDeviceRunners()) {
    for (std::int64_t width = 1; width <= 33; ++width) {
      OperatorCase test_case;
      test_case.name = "width_" + std::to_string(width);
      for (int input = 0; input < row_inputs; ++input) {
        std::vector<double> x;
        for (std::size_t i = 0; i < static_cast<std::size_t>(96 * width); ++i) {
          x.push_back(i / static_cast<std::size_t>(width) % 3 == 0 ? std::sin(static_cast<double>(i))
                                                                   : kNumbers[(i * i + i / 7) % std::size(kNumbers)]);
        }
        test_case.inputs.push_back(FromDoubles(dtype, {96, width}, x));
      }
      for (int i = 0; i < parameters; ++i) {
        test_case.inputs.push_back(MakeTensor(dtype, {width}, Values::kUniform, kRowSeed));
      }
      const auto alone = device->Run(op, test_case);
      const auto together = device->RunBatch(op, {&test_case, &test_case});
      ASSERT_TRUE(alone.ok() && together.ok()) << alone.status() << together.status();
      for (const std::vector<HostTensor>& outputs : *together) {
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          EXPECT_EQ(outputs[i].bytes, (*alone)[i].bytes) << device->name() << ", width " << width << ", output " << i;
        }
      }
    }
  }
}

/// So many that a thread has several, one after another: as those among few of them.
TEST_P(RowOrderTest, ManyShortRowsHaveTheBitsThatTheyHaveAmongFew) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const auto& [name, row_inputs, parameters, dtype] = GetParam();
  const Operator& op = *FindOperator(name);
  constexpr std::int64_t kFew = 5000;
  for (DeviceRunner* const device : AllDeviceRunners()) {
    const std::int64_t rows = device->name() == "host" ? 2 * kFew : 300'001;
    for (const std::int64_t width : {1, 2, 3, 4, 7, 8, 12}) {
      const auto row_bytes = static_cast<std::ptrdiff_t>(width) * static_cast<std::ptrdiff_t>(SizeOf(dtype));
      OperatorCase many;
      many.name = "width_" + std::to_string(width);
      for (int i = 0; i < row_inputs; ++i) {
        many.inputs.push_back(FirstRows(dtype, rows, width, kRowSeed + static_cast<std::uint64_t>(i)));
      }
      for (int i = 0; i < parameters; ++i) {
        many.inputs.push_back(MakeTensor(dtype, {width}, Values::kUniform, kRowSeed + static_cast<std::uint64_t>(i)));
      }
      const auto of_many = device->Run(op, many);
      ASSERT_TRUE(of_many.ok()) << of_many.status();
      for (const std::int64_t first : {std::int64_t{0}, rows - kFew}) {
        OperatorCase few = many;
        for (std::size_t i = 0; i < static_cast<std::size_t>(row_inputs); ++i) {
          const auto begin = many.inputs[i].bytes.begin() + first * row_bytes;
          few.inputs[i].desc = TensorDesc{dtype, {kFew, width}};
          few.inputs[i].bytes.assign(begin, begin + kFew * row_bytes);
        }
        const auto of_few = device->Run(op, few);
        ASSERT_TRUE(of_few.ok()) << of_few.status();
        EXPECT_EQ(std::memcmp((*of_many)[0].bytes.data() + first * row_bytes, (*of_few)[0].bytes.data(),
                              (*of_few)[0].bytes.size()),
                  0)
            << device->name() << ", width " << width << ", from row " << first << " on";
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

/// Rows of large tensors, which may take another way than those of small ones: three rows over and over are in each
/// place what they are in a tensor of three. On a GPU only: the host has no such ways.
TEST_P(RowOrderTest, RowsOfLargeTensorsAreThoseOfSmallOnes) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const auto& [name, row_inputs, parameters, dtype] = GetParam();
  for (DeviceRunner* const device : AllDeviceRunners()) {
    if (device->name() == "host") {
      continue;
    }
    for (const std::int64_t width : {8, 9, 64, 192, 257, 320, 1001, 2049, 4097}) {
      const auto row_bytes = static_cast<std::size_t>(width) * SizeOf(dtype);
      const std::size_t rows = (std::size_t{66} << 20) / row_bytes + 1;
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
      }
      const auto three = device->Run(*FindOperator(name), of_three);
      ASSERT_TRUE(three.ok()) << three.status();
      const auto many = device->Run(*FindOperator(name), of_many);
      ASSERT_TRUE(many.ok()) << many.status();
      for (std::size_t i = 0; i < many->size(); ++i) {
        const std::vector<std::byte>& bytes = (*many)[i].bytes;
        if (bytes.size() != rows * row_bytes) {
          continue;  // a statistic
        }
        for (std::size_t row = 0; row < rows; ++row) {
          ASSERT_EQ(std::memcmp(&bytes[row * row_bytes], &(*three)[i].bytes[row % 3 * row_bytes], row_bytes), 0)
              << "width " << width << ", row " << row << " of " << rows << ", output " << i;
        }
      }
    }
  }
}

/// A request that is alone in its launch has kernels of its own, if it is as most are; among others it gives the same
/// bits. Rows of every kind of tuning: in whole vectors, in halves of them, and of any length.
TEST_P(RowOrderTest, TheUsualLaunchChangesNoBit) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const auto& [name, row_inputs, parameters, dtype] = GetParam();
  const Operator& op = *FindOperator(name);
  const auto compare = [&, op_inputs = row_inputs, op_parameters = parameters, type = dtype](
                           DeviceRunner& device, std::int64_t rows, std::int64_t width) {
    const auto case_of = [&](std::int64_t count) {
      OperatorCase test_case;
      test_case.name = std::to_string(count) + "_rows_of_" + std::to_string(width);
      for (int i = 0; i < op_inputs; ++i) {
        test_case.inputs.push_back(FirstRows(type, count, width, kRowSeed + static_cast<std::uint64_t>(i)));
      }
      for (int i = 0; i < op_parameters; ++i) {
        test_case.inputs.push_back(
            MakeTensor(type, {width}, Values::kUniform, kRowSeed + static_cast<std::uint64_t>(i)));
      }
      return test_case;
    };
    const OperatorCase request = case_of(rows);
    const OperatorCase other = case_of(1);
    const auto alone = device.Run(op, request);
    ASSERT_TRUE(alone.ok()) << alone.status();
    const auto together = device.RunBatch(op, {&other, &request});
    ASSERT_TRUE(together.ok()) << together.status();
    for (std::size_t i = 0; i < alone->size(); ++i) {
      EXPECT_TRUE(SameBits((*together)[1][i], (*alone)[i]))
          << device.name() << ", " << request.name << ", output " << i;
    }
  };
  for (const std::int64_t width :
       {7,    64,   100,   101,   141,   173,   254,   256,   257,   320,   333,    508,    513,
        661,  764,  768,   1000,  1001,  1024,  1025,  1301,  1537,  1999,  2048,   3000,   4097,
        5000, 8192, 12289, 16384, 18432, 24580, 33001, 40000, 65536, 65540, 131073, 150000, 210001}) {
    for (DeviceRunner* const device : AllDeviceRunners()) {
      compare(*device, std::max<std::int64_t>(3, 30000 / width), width);
    }
  }
  // Long rows, and more of them, which a GPU holds in other ways.
  for (const std::int64_t width : {18432, 40000}) {
    for (const std::int64_t mib : {8, 66}) {
      for (DeviceRunner* const device : AllDeviceRunners()) {
        if (device->name() != "host") {
          compare(*device, (mib << 20) / (width * static_cast<std::int64_t>(SizeOf(dtype))), width);
        }
      }
    }
  }
}

/// Rows of whole vectors, few, some and many of them, that begin off a boundary of 16 bytes, each by another distance,
/// as do their results.
TEST_P(RowOrderTest, WhereLongRowsBeginChangesNoBit) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const auto& [name, row_inputs, parameters, dtype] = GetParam();
  const Operator& op = *FindOperator(name);
  const auto size = static_cast<std::int64_t>(SizeOf(dtype));
  for (const std::int64_t width : {1536, 8192, 12296, 18432, 40000, 57344, 81920, 140000}) {
    for (const std::int64_t mib : {1, 8, 20, 66}) {
      const std::int64_t rows = std::max<std::int64_t>(3, (mib << 20) / (width * size));
      OperatorCase dense;
      dense.name = std::to_string(rows) + "_rows_of_" + std::to_string(width);
      OperatorCase apart = dense;
      for (int i = 0; i < row_inputs; ++i) {
        dense.inputs.push_back(FirstRows(dtype, rows, width, kRowSeed + static_cast<std::uint64_t>(i)));
        apart.layout.input_row_strides[static_cast<std::size_t>(i)] = width + 1 + i;
        apart.layout.output_row_strides[static_cast<std::size_t>(i)] = width + 3 + i;
      }
      for (int i = 0; i < parameters; ++i) {
        dense.inputs.push_back(MakeTensor(dtype, {width}, Values::kUniform, kRowSeed + static_cast<std::uint64_t>(i)));
      }
      apart.inputs = dense.inputs;
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
  for (const std::int64_t width : {20, 64, 100, 200, 101, 10001, 20480, 30001, 600'000}) {
    for (DeviceRunner* const device : AllDeviceRunners()) {
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

INSTANTIATE_TEST_SUITE_P(
    , RowOrderTest,
    ::testing::Values(RowOrder{"rms_norm", 1, 1, DataType::kBf16}, RowOrder{"rms_norm", 1, 1, DataType::kFp32},
                      RowOrder{"layer_norm", 1, 2, DataType::kFp32}, RowOrder{"layer_norm", 1, 2, DataType::kBf16},
                      RowOrder{"add_rms_norm", 2, 1, DataType::kFp32}, RowOrder{"add_rms_norm", 2, 1, DataType::kBf16},
                      RowOrder{"softmax", 1, 0, DataType::kBf16}, RowOrder{"softmax", 1, 0, DataType::kFp32},
                      RowOrder{"rms_norm", 1, 1, DataType::kFp16}, RowOrder{"add_rms_norm", 2, 1, DataType::kFp16},
                      RowOrder{"layer_norm", 1, 2, DataType::kFp16}, RowOrder{"softmax", 1, 0, DataType::kFp16},
                      RowOrder{"layer_norm", 1, 2, DataType::kFp64}),
    [](const auto& suite) { return std::string(suite.param.op) + "_" + NameOf(suite.param.dtype); });

}  // namespace
}  // namespace kernelwire::testing
