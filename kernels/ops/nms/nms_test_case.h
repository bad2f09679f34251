// What the tests of nms share.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_TEST_CASE_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_TEST_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/case.h"
#include "kernels/testing/generators.h"

namespace kernelwire::testing::nms {

/// A case without images. `classes` may be empty.
inline OperatorCase MakeCase(const std::string& name, const std::vector<double>& boxes,
                             const std::vector<double>& scores, const std::vector<double>& classes) {
  const auto count = static_cast<std::int64_t>(scores.size());
  OperatorCase made;
  made.name = name;
  made.inputs.resize(4);
  made.inputs[0] = FromDoubles(DataType::kFp32, {count, 4}, boxes);
  made.inputs[1] = FromDoubles(DataType::kFp32, {count}, scores);
  if (!classes.empty()) {
    made.inputs[2] = FromDoubles(DataType::kInt64, {count}, classes);
  }
  return made;
}

}  // namespace kernelwire::testing::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_TEST_CASE_H_
