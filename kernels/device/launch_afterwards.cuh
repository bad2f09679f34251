// A launch that does not begin beside the kernel before it.
#ifndef KERNELWIRE_KERNELS_DEVICE_LAUNCH_AFTERWARDS_CUH_
#define KERNELWIRE_KERNELS_DEVICE_LAUNCH_AFTERWARDS_CUH_

#include <cuda_runtime.h>

#include <utility>

#include "kernels/device/launch.cuh"

namespace kernelwire {

/// As LaunchKernel, but the kernel begins when the one before it has ended. For kernels behind one that may take long:
/// their blocks would wait on the multiprocessors meanwhile, and keep those of other streams from them. Requires:
/// blocks to launch, and no more than a grid may have.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchKernelAfterwards(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                                   Arguments&&... arguments) {
  const cudaError_t error = ConsentTo(kernel, shape);
  return error == cudaSuccess ? cudaLaunchKernelEx(LaunchConfig(shape, stream, /*overlaps=*/false).get(), kernel,
                                                   std::forward<Arguments>(arguments)...)
                              : error;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_LAUNCH_AFTERWARDS_CUH_
