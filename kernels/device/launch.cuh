// The one way to launch a kernel.
#ifndef KERNELWIRE_KERNELS_DEVICE_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_DEVICE_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kernelwire {

/// The size of a launch. Blocks lie along x: row numbers go far beyond what y and z can hold.
struct LaunchShape {
  std::int64_t blocks = 0;       // 0: nothing to do; at most 2^31 - 1
  unsigned threads = 0;          // per block
  std::size_t shared_bytes = 0;  // dynamic shared memory of a block
  unsigned cluster_blocks = 1;   // blocks per cluster; divides `blocks`
};

/// Enqueues `kernel` on `stream` and returns at once. A launch of no blocks succeeds without touching the device.
/// Errors: those of the launch itself; what happens inside the kernel shows at the next synchronisation.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchKernel(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                         Arguments&&... arguments) {
  constexpr std::int64_t kMaxBlocks = 2147483647;
  constexpr std::size_t kSharedBytesWithoutConsent = 48 * 1024;
  if (shape.blocks == 0) {
    return cudaSuccess;
  }
  if (shape.blocks < 0 || shape.blocks > kMaxBlocks) {
    return cudaErrorInvalidConfiguration;
  }
  if (shape.shared_bytes > kSharedBytesWithoutConsent) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
    if (error != cudaSuccess) {
      return error;
    }
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = shape.cluster_blocks;
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;

  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = shape.cluster_blocks > 1 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_LAUNCH_CUH_
