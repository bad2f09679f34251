// Reductions over axes between which others stay, [R, K, S] over R and S: where there are many elements, a GPU takes
// them for columns of K * S and merges their totals, S of a result.
#include <gtest/gtest.h>

#include <cmath>
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

constexpr std::uint64_t kShortRunsSeed = 31;

struct ShortRuns {
  const char* op;
  DataType dtype;
  std::vector<std::int64_t> extents;  // R, K, S: whole vectors and not, one part of the rows and several
};

class ShortRunsTest : public ::testing::TestWithParam<ShortRuns> {
 protected:
  /// `pieces` of them; few rows on the host, which has one way only.
  static HostTensor Draw(const DeviceRunner& device, std::int64_t pieces) {
    const auto& [name, dtype, extents] = GetParam();
    const std::int64_t results = device.name() == "host" ? 3 : extents[1];
    HostTensor x = DrawNormal(dtype, {pieces, extents[0], results, extents[2]}, kShortRunsSeed);
    if (std::string(name) != "sum" || dtype == DataType::kInt8) {
      return x;
    }
    std::vector<double> whole = ToDoubles(x);  // whose sums are exact
    for (double& value : whole) {
      value = std::round(value);
    }
    return FromDoubles(dtype, x.desc.shape, whole);
  }

  static HostTensor Reduce(DeviceRunner& device, const HostTensor& x, const std::string& axes) {
    AttributeList attributes = Axes(axes);
    if (x.desc.dtype == DataType::kBf16) {  // else rounded after each step
      attributes.emplace_back("output_type", std::string("FP32"));
    }
    const auto outputs = device.Run(*FindOperator(GetParam().op), ReductionOf(x, attributes));
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? outputs->front() : HostTensor{};
  }
};

/// Of the columns first, and of what they come to then.
TEST_P(ShortRunsTest, ComeToWhatTheirColumnsComeTo) {
  SCOPED_TRACE("seed " + std::to_string(kShortRunsSeed));
  for (DeviceRunner* const device : AllDeviceRunners()) {
    const HostTensor x = Draw(*device, 1);
    const std::vector<double> at_once = ToDoubles(Reduce(*device, x, "1,3"));
    const std::vector<double> in_two_steps = ToDoubles(Reduce(*device, Reduce(*device, x, "1"), "2"));
    ASSERT_EQ(at_once.size(), in_two_steps.size());
    const bool exact = std::string(GetParam().op) == "sum" || std::string(GetParam().op) == "max";
    for (std::size_t i = 0; i < at_once.size(); ++i) {
      const double bound = exact ? 0.0 : 1e-6 * std::abs(in_two_steps[i]);
      EXPECT_NEAR(at_once[i], in_two_steps[i], bound) << device->name() << ", result " << i;
    }
  }
}

TEST_P(ShortRunsTest, APieceGivesTheSameBitsAloneAndAmongOthers) {
  SCOPED_TRACE("seed " + std::to_string(kShortRunsSeed));
  for (DeviceRunner* const device : AllDeviceRunners()) {
    const HostTensor x = Draw(*device, 3);
    const std::vector<std::byte> together = Reduce(*device, x, "1,3").bytes;
    std::vector<std::byte> one_by_one;
    for (std::int64_t piece = 0; piece < 3; ++piece) {
      const std::vector<std::byte> alone = Reduce(*device, PartOf(x, piece, 1), "1,3").bytes;
      one_by_one.insert(one_by_one.end(), alone.begin(), alone.end());
    }
    EXPECT_TRUE(together == one_by_one) << device->name();
  }
}

INSTANTIATE_TEST_SUITE_P(, ShortRunsTest,
                         ::testing::Values(ShortRuns{"sum", DataType::kFp32, {70, 512, 240}},
                                           ShortRuns{"sum", DataType::kBf16, {600, 286, 49}},
                                           ShortRuns{"sum", DataType::kInt8, {1100, 90, 100}},
                                           ShortRuns{"max", DataType::kFp16, {1100, 160, 48}},
                                           ShortRuns{"max", DataType::kFp32, {65, 1024, 127}},
                                           ShortRuns{"logsumexp", DataType::kFp32, {600, 286, 49}},
                                           ShortRuns{"logsumexp", DataType::kBf16, {130, 400, 162}},
                                           ShortRuns{"l2_norm", DataType::kFp64, {64, 1030, 128}}),
                         [](const auto& suite) {
                           return std::string(suite.param.op) + "_" + NameOf(suite.param.dtype);
                         });

}  // namespace
}  // namespace kernelwire::testing
