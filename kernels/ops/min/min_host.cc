// min on the host: max of what has been turned around.
#include "kernels/ops/max/max_host.h"

namespace kernelwire {

absl::Status RunMinHost(const Launch& launch, ParallelExecutor& threads) {
  return RunExtremaHost(launch, true, threads);
}

}  // namespace kernelwire
