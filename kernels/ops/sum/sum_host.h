// The host path of sum, which mean takes too.
#ifndef KERNELWIRE_KERNELS_OPS_SUM_SUM_HOST_H_
#define KERNELWIRE_KERNELS_OPS_SUM_SUM_HOST_H_

#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "kernels/ops/sum/sum.h"

namespace kernelwire {

absl::Status RunSumsHost(const Launch& launch, const SumFinish& finish, ParallelExecutor& threads);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SUM_SUM_HOST_H_
