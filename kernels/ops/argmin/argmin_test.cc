// argmin is argmax of what has been turned around; argmax_test.cc tries both. Here: that they find what min says.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing::argmin {
namespace {

class ArgminTest : public ::testing::TestWithParam<DeviceRunner*> {};

INSTANTIATE_TEST_SUITE_P(, ArgminTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(ArgminTest, PointsAtTheMinimum) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp64, DataType::kInt8, DataType::kInt64}) {
    const HostTensor x = DrawNormal(dtype, {20, 700}, 3);
    const AttributeList rows = Axes("1");
    const auto places = GetParam()->Run(*FindOperator("argmin"), ReductionCase("places", x, rows));
    const auto smallest = GetParam()->Run(*FindOperator("min"), ReductionCase("smallest", x, rows));
    const std::vector<double> values = ToDoubles(x);
    const std::vector<double> place = ToDoubles(places.value().front());
    const std::vector<double> expected = ToDoubles(smallest.value().front());
    for (std::size_t row = 0; row < expected.size(); ++row) {
      EXPECT_EQ(values[row * 700 + static_cast<std::size_t>(place[row])], expected[row]) << NameOf(dtype) << row;
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing::argmin
