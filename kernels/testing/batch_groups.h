// Which cases of an operator may share a launch.
#ifndef KERNELWIRE_KERNELS_TESTING_BATCH_GROUPS_H_
#define KERNELWIRE_KERNELS_TESTING_BATCH_GROUPS_H_

#include <vector>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

/// Cases of one batch key, in the order in which they were given. They point at the cases they were made of.
using BatchGroup = std::vector<const OperatorCase*>;

/// Each case is planned once; one that the operator refuses is in no group.
std::vector<BatchGroup> BatchGroupsOf(const Operator& op, const std::vector<OperatorCase>& cases);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_BATCH_GROUPS_H_
