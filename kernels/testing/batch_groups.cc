#include "kernels/testing/batch_groups.h"

#include <algorithm>

#include "kernels/testing/launch_image.h"

namespace kernelwire::testing {

std::vector<BatchGroup> BatchGroupsOf(const Operator& op, const std::vector<OperatorCase>& cases) {
  std::vector<BatchKey> keys;  // of the groups
  std::vector<BatchGroup> groups;
  for (const OperatorCase& test_case : cases) {
    const auto planned = PlanCase(op, test_case);
    if (!planned.ok()) {
      continue;
    }
    const BatchKey& key = (*planned)->plan.key;
    const auto group = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (group == keys.size()) {
      keys.push_back(key);
      groups.emplace_back();
    }
    groups[group].push_back(&test_case);
  }
  return groups;
}

}  // namespace kernelwire::testing
