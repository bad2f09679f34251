// log_softmax on the host: softmax's rows, with logarithms written.
#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "kernels/ops/softmax/softmax_family.h"

namespace kernelwire {

absl::Status RunLogSoftmaxHost(const Launch& launch, ParallelExecutor& threads) {
  return RunSoftmaxRows(SoftmaxResult::kLogarithms, launch, threads);
}

}  // namespace kernelwire
