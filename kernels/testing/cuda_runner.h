// The CUDA device runner, in builds that have one.
#ifndef KERNELWIRE_KERNELS_TESTING_CUDA_RUNNER_H_
#define KERNELWIRE_KERNELS_TESTING_CUDA_RUNNER_H_

#include <string>

#include "kernels/testing/device_runner.h"

namespace kernelwire::testing {

/// The runner of GPU 0; null, and the reason in `why_none`, where the build has no CUDA (cuda_runner_absent.cc) or the
/// machine no GPU (cuda_runner.cc). Lives until the process ends.
DeviceRunner* CudaRunner(std::string* why_none);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_CUDA_RUNNER_H_
