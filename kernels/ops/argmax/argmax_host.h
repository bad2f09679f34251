// The host path of argmax, which argmin takes too.
#ifndef KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_HOST_H_
#define KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_HOST_H_

#include "absl/status/status.h"
#include "kernels/core/operator.h"

namespace kernelwire {

absl::Status RunPlacesHost(const Launch& launch, bool smallest, ParallelExecutor& threads);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_ARGMAX_ARGMAX_HOST_H_
