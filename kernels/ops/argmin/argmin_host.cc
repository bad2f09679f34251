// argmin on the host: argmax of what has been turned around.
#include "kernels/ops/argmax/argmax_host.h"

namespace kernelwire {

absl::Status RunArgminHost(const Launch& launch, ParallelExecutor& threads) {
  return RunPlacesHost(launch, true, threads);
}

}  // namespace kernelwire
