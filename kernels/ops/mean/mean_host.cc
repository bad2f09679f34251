// mean on the host: sum, with a division at the end.
#include "kernels/ops/sum/sum_host.h"

namespace kernelwire {

absl::Status RunMeanHost(const Launch& launch, ParallelExecutor& threads) {
  return RunSumsHost(launch, MeanFinish(launch), threads);
}

}  // namespace kernelwire
