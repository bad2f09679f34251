// A column gives the same bits whatever is in the columns beside it, and however many they are: vectors of columns that
// need more care than others must not treat their healthy lanes in another way, nor a thread with several columns one
// of them in another way than a thread with one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint64_t kColumnSeed = 11;
constexpr std::int64_t kHeight = 85;
constexpr std::int64_t kColumns = 43;

class ColumnOrderTest : public ::testing::TestWithParam<const char*> {};

/// The results of every other column, as bits.
std::vector<std::byte> HealthyResults(DeviceRunner& device, const Operator& op, const HostTensor& x) {
  const auto outputs = device.Run(op, ReductionCase("columns", x, Axes("0")));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<std::byte> healthy;
  const std::vector<std::byte>& bytes = (*outputs)[0].bytes;
  const std::size_t size = bytes.size() / kColumns;
  for (std::size_t column = 0; column < kColumns; column += 2) {
    healthy.insert(healthy.end(), bytes.begin() + static_cast<std::ptrdiff_t>(column * size),
                   bytes.begin() + static_cast<std::ptrdiff_t>((column + 1) * size));
  }
  return healthy;
}

TEST_P(ColumnOrderTest, BitsDoNotFollowTheNeighbours) {
  const Operator& op = *FindOperator(GetParam());
  for (const DataType dtype : {DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    const HostTensor drawn = MakeTensor(dtype, {kHeight, kColumns}, Values::kNormal, kColumnSeed);
    for (DeviceRunner* const device : AllDeviceRunners()) {
      const std::vector<std::byte> alone = HealthyResults(*device, op, drawn);
      for (const double trouble : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 1e30, -1e30, 0.0}) {
        std::vector<double> x = ToDoubles(drawn);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const bool troubled = i % kColumns % 2 == 1 && i / kColumns % 3 == 1;
          x[i] = troubled ? trouble : x[i];
        }
        EXPECT_TRUE(HealthyResults(*device, op, FromDoubles(dtype, {kHeight, kColumns}, x)) == alone)
            << device->name() << ", " << NameOf(dtype) << ", beside " << trouble;
      }
    }
  }
}

/// In FP64, which shows a product and a sum that the compiler made one of. Up to 8 rows are one thread's lane, up to 16
/// two, and more are several threads'.
TEST_P(ColumnOrderTest, BitsDoNotFollowTheNumberOfColumns) {
  const std::string name = GetParam();
  const Operator& op = *FindOperator(name);
  AttributeList attributes = Axes("0");
  if (name.rfind("arg", 0) != 0) {
    attributes.emplace_back("output_type", std::string("FP64"));
  }
  for (DeviceRunner* const device : AllDeviceRunners()) {
    const std::int64_t many = device->name() == "host" ? 1028 : 131076;  // a GPU's threads have vectors of so many
    for (const std::int64_t height : {8, 13, 40}) {
      const HostTensor x = MakeTensor(DataType::kFp32, {height, many}, Values::kNormal, kColumnSeed);
      const std::vector<double> elements = ToDoubles(x);
      std::vector<double> few;
      for (std::int64_t row = 0; row < height; ++row) {
        const auto begin = elements.begin() + row * many;
        few.insert(few.end(), begin, begin + kColumns);
      }
      const auto of_many = device->Run(op, ReductionCase("many", x, attributes));
      const auto of_few =
          device->Run(op, ReductionCase("few", FromDoubles(DataType::kFp32, {height, kColumns}, few), attributes));
      ASSERT_TRUE(of_many.ok() && of_few.ok()) << of_many.status() << of_few.status();
      const std::vector<std::byte>& bytes = of_few->front().bytes;
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), of_many->front().bytes.begin()))
          << device->name() << ", " << height << " rows, seed " << kColumnSeed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ColumnOrderTest,
                         ::testing::Values("sum", "mean", "prod", "max", "min", "argmax", "argmin", "logsumexp",
                                           "l2_norm"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace kernelwire::testing
