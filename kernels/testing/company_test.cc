// A thousand draws an operator: requests of one batch key in random company, in random order, some of them twice, give
// the bits that they give alone. The battery tries each case once; this tries what nobody thought of.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "kernels/testing/batch_groups.h"
#include "kernels/testing/case.h"
#include "kernels/testing/device_runner.h"

namespace kernelwire::testing {
namespace {

constexpr int kDraws = 1000;
constexpr std::size_t kSmall = 16384;  // bytes of a request's inputs

struct Request {
  const OperatorCase* test_case = nullptr;
  std::vector<HostTensor> alone;
};

std::size_t InputBytes(const OperatorCase& test_case) {
  std::size_t bytes = 0;
  for (const HostTensor& input : test_case.inputs) {
    bytes += input.bytes.size();
  }
  return bytes;
}

/// The small cases of an operator that may share a launch; groups of at least two.
std::vector<std::vector<Request>> Groups(const Operator& op, const OperatorCases& cases, DeviceRunner& device) {
  std::vector<std::vector<Request>> groups;
  for (const BatchGroup& group : BatchGroupsOf(op, cases.cases)) {
    std::vector<Request> requests;
    for (const OperatorCase* const test_case : group) {
      if (InputBytes(*test_case) > kSmall) {
        continue;
      }
      auto outputs = device.Run(op, *test_case);
      EXPECT_TRUE(outputs.ok()) << test_case->name << ": " << outputs.status();
      if (outputs.ok()) {
        requests.push_back({test_case, *std::move(outputs)});
      }
    }
    if (requests.size() >= 2) {
      groups.push_back(std::move(requests));
    }
  }
  return groups;
}

class CompanyTest : public ::testing::TestWithParam<std::pair<const OperatorCases*, DeviceRunner*>> {};

std::vector<std::pair<const OperatorCases*, DeviceRunner*>> CasesAndDevices() {
  std::vector<std::pair<const OperatorCases*, DeviceRunner*>> pairs;
  for (const OperatorCases& cases : AllOperatorCases()) {
    for (DeviceRunner* const device : AllDeviceRunners()) {
      pairs.emplace_back(&cases, device);
    }
  }
  return pairs;
}

TEST_P(CompanyTest, ChangesNoBit) {
  const auto& [cases, device] = GetParam();
  const Operator& op = *FindOperator(cases->name);
  const std::vector<std::vector<Request>> groups = Groups(op, *cases, *device);
  ASSERT_FALSE(groups.empty());
  constexpr std::uint32_t kSeed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<Request>& group = groups[random() % groups.size()];
    std::vector<const Request*> drawn(2 + random() % 7);
    BatchGroup batch;
    for (const Request*& request : drawn) {
      request = &group[random() % group.size()];
      batch.push_back(request->test_case);
    }
    const auto together = device->RunBatch(op, batch);
    ASSERT_TRUE(together.ok()) << "draw " << draw << ": " << together.status();
    for (std::size_t r = 0; r < drawn.size(); ++r) {
      for (std::size_t i = 0; i < drawn[r]->alone.size(); ++i) {
        ASSERT_TRUE(SameBits((*together)[r][i], drawn[r]->alone[i]))
            << "draw " << draw << ", request " << r << " of " << drawn.size() << " (" << batch[r]->name << "), output "
            << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CompanyTest, ::testing::ValuesIn(CasesAndDevices()),
                         [](const auto& suite) { return suite.param.first->name + "_" + suite.param.second->name(); });

}  // namespace
}  // namespace kernelwire::testing
