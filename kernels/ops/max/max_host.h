// The host path of max, which min takes too.
#ifndef KERNELWIRE_KERNELS_OPS_MAX_MAX_HOST_H_
#define KERNELWIRE_KERNELS_OPS_MAX_MAX_HOST_H_

#include "absl/status/status.h"
#include "kernels/core/operator.h"

namespace kernelwire {

absl::Status RunExtremaHost(const Launch& launch, bool smallest, ParallelExecutor& threads);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_MAX_MAX_HOST_H_
