// Real threads for the host path in tests.
#ifndef KERNELWIRE_KERNELS_TESTING_THREAD_EXECUTOR_H_
#define KERNELWIRE_KERNELS_TESTING_THREAD_EXECUTOR_H_

#include <cstdint>
#include <functional>

#include "kernels/core/operator.h"

namespace kernelwire::testing {

/// Cuts every loop into the smallest ranges that `grain` allows, hands them to threads of its own in no particular
/// order, and joins the threads. As hostile as the contract of ParallelExecutor permits, and not fast.
class ThreadExecutor final : public ParallelExecutor {
 public:
  /// Requires: threads >= 1.
  explicit ThreadExecutor(int threads) : threads_(threads) {}
  void ParallelFor(std::int64_t count, std::int64_t grain,
                   const std::function<void(std::int64_t, std::int64_t)>& body) override;

 private:
  int threads_;
};

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_THREAD_EXECUTOR_H_
