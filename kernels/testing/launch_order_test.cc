// Launches that follow each other on a stream without a wait give the bits that each gives alone: what they share, and
// what they leave behind for the next, is of no consequence.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/reduce_cases.h"

namespace kernelwire::testing {
namespace {

constexpr std::uint64_t kLaunchSeed = 13;

struct LaunchOrder {
  const char* op;
  DataType dtype;
};

class LaunchOrderTest : public ::testing::TestWithParam<LaunchOrder> {};

/// Reductions of few long rows, which have 32, 301, 9 and 11 parts: on a GPU a block each, of which the last merges
/// them. 301 are more than there are slots. Whole vectors, and others.
std::vector<OperatorCase> LongRows(DataType dtype) {
  const auto width = [dtype](std::int64_t bytes) { return bytes / static_cast<std::int64_t>(SizeOf(dtype)); };
  std::vector<OperatorCase> cases;
  for (const Shape& shape : {Shape{3, width(32 << 15)}, Shape{width(300 << 15) + 3}, Shape{width(9 << 15) - 1},
                             Shape{7, width(10 << 15) + 1}}) {
    cases.push_back(ReductionCase("shape" + shape.ToString(), MakeTensor(dtype, shape, Values::kNormal, kLaunchSeed),
                                  Axes(std::to_string(shape.rank() - 1))));
  }
  return cases;
}

TEST_P(LaunchOrderTest, FollowersGiveTheBitsThatTheyGiveAlone) {
  SCOPED_TRACE("seed " + std::to_string(kLaunchSeed));
  const auto& [name, dtype] = GetParam();
  const Operator& op = *FindOperator(name);
  const std::vector<OperatorCase> cases = LongRows(dtype);
  for (DeviceRunner* const device : AllDeviceRunners()) {
    std::vector<HostTensor> alone;
    for (const OperatorCase& test_case : cases) {
      const auto outputs = device->Run(op, test_case);
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      alone.push_back(outputs->front());
    }
    // The host runs one after the other anyway.
    const std::size_t rounds = device->name() == "host" ? 1 : 12;
    std::vector<const OperatorCase*> row;
    for (std::size_t i = 0; i < rounds * cases.size(); ++i) {
      row.push_back(&cases[i % cases.size()]);
    }
    const auto outputs = device->RunInARow(op, row);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_TRUE(SameBits((*outputs)[i].front(), alone[i % cases.size()]))
          << device->name() << ", launch " << i << ", " << row[i]->name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, LaunchOrderTest,
                         ::testing::Values(LaunchOrder{"sum", DataType::kFp32}, LaunchOrder{"sum", DataType::kBf16},
                                           LaunchOrder{"sum", DataType::kInt32}, LaunchOrder{"max", DataType::kFp32},
                                           LaunchOrder{"argmax", DataType::kFp32},
                                           LaunchOrder{"argmax", DataType::kInt64},
                                           LaunchOrder{"logsumexp", DataType::kFp32}),
                         [](const auto& suite) {
                           return std::string(suite.param.op) + "_" + NameOf(suite.param.dtype);
                         });

}  // namespace
}  // namespace kernelwire::testing
