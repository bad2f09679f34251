// min is max of what has been turned around; max_test.cc tries both. Here: that they mirror each other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing::min {
namespace {

class MinTest : public ::testing::TestWithParam<DeviceRunner*> {};

INSTANTIATE_TEST_SUITE_P(, MinTest, ::testing::ValuesIn(AllDeviceRunners()),
                         [](const auto& suite) { return suite.param->name(); });

TEST_P(MinTest, IsTheNegatedMaximumOfTheNegated) {
  for (const DataType dtype : {DataType::kFp16, DataType::kFp32, DataType::kFp64, DataType::kInt32}) {
    for (const char* const axes : {"0", "1", "0,1"}) {
      const HostTensor x = DrawNormal(dtype, {37, 300}, 3);
      std::vector<double> negated = ToDoubles(x);
      for (double& value : negated) {
        value = -value;
      }
      const AttributeList attributes = {{"axes", std::string(axes)}};
      const auto smallest = GetParam()->Run(*FindOperator("min"), ReductionCase("x", x, attributes));
      const auto largest = GetParam()->Run(
          *FindOperator("max"), ReductionCase("negated", FromDoubles(dtype, {37, 300}, negated), attributes));
      std::vector<double> expected = ToDoubles(largest.value().front());
      for (double& value : expected) {
        value = -value;
      }
      EXPECT_EQ(ToDoubles(smallest.value().front()), expected) << NameOf(dtype) << " " << axes;
    }
  }
}

}  // namespace
}  // namespace kernelwire::testing::min
