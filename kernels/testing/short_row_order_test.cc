// Short rows, of which a GPU has several ways to read and share: each gives the bits that it gives alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/row_order.h"

namespace kernelwire::testing {
namespace {

class ShortRowOrderTest : public ::testing::TestWithParam<RowOrder> {};

/// `of_all` are the outputs of `all`: those of `count` rows from `first` on are what these give by themselves.
void ExpectAsAlone(DeviceRunner& device, const OperatorCase& all, const std::vector<HostTensor>& of_all,
                   const RowOrder& order, std::int64_t first, std::int64_t count) {
  const OperatorCase some = RowsAmong(all, order, first, count);
  const auto of_some = device.Run(*FindOperator(order.op), some);
  ASSERT_TRUE(of_some.ok()) << of_some.status();
  for (std::size_t i = 0; i < of_all.size(); ++i) {
    if (of_all[i].bytes.size() == all.inputs[0].bytes.size()) {  // not a statistic
      EXPECT_TRUE(SameBits(PartOf(of_all[i], first, count), (*of_some)[i]))
          << device.name() << ", " << some.name << ", output " << i;
    }
  }
}

/// Rows that threads have to themselves, and those that lanes share: of whole vectors, of half a vector more, and of
/// any length; so many that several blocks have some, and the last has fewer.
TEST_P(ShortRowOrderTest, ARowHasTheBitsThatItHasAlone) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  constexpr std::int64_t kRows = 1001;
  for (const std::int64_t width :
       {1,  2,  5,  12,  13,  16,  18,  20,  23,  24,  28,  30,  31,  32,  36,  40,   44,   48,   52,
        56, 60, 64, 100, 101, 139, 177, 254, 257, 333, 380, 506, 508, 513, 764, 1000, 1004, 1025, 1401}) {
    const OperatorCase all = CaseOfRows(GetParam(), kRows, width);
    for (DeviceRunner* const device : AllDeviceRunners()) {
      const auto outputs = device->Run(*FindOperator(GetParam().op), all);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      for (const std::int64_t row : {std::int64_t{0}, std::int64_t{3}, std::int64_t{500}, kRows - 2, kRows - 1}) {
        ExpectAsAlone(*device, all, *outputs, GetParam(), row, 1);
      }
    }
  }
}

/// So many that a thread has several, one after another, or lanes' rows pass through a tile: as those among few.
TEST_P(ShortRowOrderTest, ManyHaveTheBitsThatTheyHaveAmongFew) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  constexpr std::int64_t kFew = 5000;
  for (DeviceRunner* const device : AllDeviceRunners()) {
    const std::int64_t rows = device->name() == "host" ? 2 * kFew : 300'001;
    for (const std::int64_t width : {1, 2, 3, 4, 7, 8, 12, 16, 18, 20, 30, 32, 44, 56, 60}) {
      const OperatorCase many = CaseOfRows(GetParam(), rows, width);
      const auto outputs = device->Run(*FindOperator(GetParam().op), many);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      for (const std::int64_t first : {std::int64_t{0}, rows - kFew}) {
        ExpectAsAlone(*device, many, *outputs, GetParam(), first, kFew);
      }
    }
  }
}

/// Two rows of special numbers and mixed signs to each ordinary one.
HostTensor SpecialRows(DataType dtype, std::int64_t rows, std::int64_t width) {
  constexpr double kNumbers[] = {kNan, -0.0, kInfinity, -kInfinity, 0.0, -1, 1, -0.0, 3, 5, -7};
  std::vector<double> x;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows * width); ++i) {
    x.push_back(i / static_cast<std::size_t>(width) % 3 == 0 ? std::sin(static_cast<double>(i))
                                                             : kNumbers[(i * i + i / 7) % std::size(kNumbers)]);
  }
  return FromDoubles(dtype, {rows, width}, x);
}

/// Two requests share a launch, which has other kernels than one has.
TEST_P(ShortRowOrderTest, SpecialNumbersGiveTheSameBitsInCompany) {
  SCOPED_TRACE("seed " + std::to_string(kRowSeed));
  const Operator& op = *FindOperator(GetParam().op);
  for (DeviceRunner* const device : AllDeviceRunners()) {
    for (std::int64_t width = 1; width <= 64; ++width) {
      OperatorCase request = CaseOfRows(GetParam(), 96, width);
      for (int i = 0; i < GetParam().row_inputs; ++i) {
        request.inputs[static_cast<std::size_t>(i)] = SpecialRows(GetParam().dtype, 96, width);
      }
      const auto alone = device->Run(op, request);
      const auto together = device->RunBatch(op, {&request, &request});
      ASSERT_TRUE(alone.ok() && together.ok()) << alone.status() << together.status();
      for (const std::vector<HostTensor>& outputs : *together) {
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          EXPECT_TRUE(SameBits(outputs[i], (*alone)[i])) << device->name() << ", width " << width << ", output " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ShortRowOrderTest, ::testing::ValuesIn(RowOrders()),
                         [](const auto& suite) { return NameOf(suite.param); });

}  // namespace
}  // namespace kernelwire::testing
