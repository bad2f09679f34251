// A result that is no number has the same bits in company as alone, whatever numbers of what signs made it so.
#include <gtest/gtest.h>

#include <cmath>
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

class ReduceNanTest : public ::testing::TestWithParam<const char*> {};

constexpr std::int64_t kRows = 24;

/// Pieces of columns with NaN of both signs, and products that make others.
HostTensor Pieces(std::int64_t pieces, std::int64_t columns, DataType dtype) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {kNan, -kNan, std::numeric_limits<double>::infinity(), 0.0};
  std::vector<double> x(static_cast<std::size_t>(pieces * kRows * columns), 1.0);
  for (std::size_t i = 0; i < x.size(); i += 5) {
    x[i] = special[(i / 5 * i / 5 + i / 35) % 4];
  }
  return FromDoubles(dtype, {pieces, kRows, columns}, x);
}

TEST_P(ReduceNanTest, AColumnHasTheSameBitsInCompany) {
  const Operator& op = *FindOperator(GetParam());
  for (DeviceRunner* const device : AllDeviceRunners()) {
    for (const DataType dtype : {DataType::kFp32, DataType::kFp64}) {
      for (const std::int64_t columns : {7, 64, 263}) {
        const OperatorCase few = ReductionOf(Pieces(1, columns, dtype), Axes("1"));
        const OperatorCase many = ReductionOf(Pieces(200, columns, dtype), Axes("1"));
        const auto alone = device->Run(op, few);
        const auto together = device->RunBatch(op, {&few, &many});
        ASSERT_TRUE(alone.ok() && together.ok()) << alone.status() << together.status();
        EXPECT_EQ(together->front().front().bytes, alone->front().bytes)
            << device->name() << ", " << NameOf(dtype) << ", " << columns << " columns";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReduceNanTest, ::testing::Values("sum", "mean", "prod", "logsumexp", "l2_norm", "max"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace kernelwire::testing
