// The one way to launch a kernel.
#ifndef KERNELWIRE_KERNELS_DEVICE_LAUNCH_CUH_
#define KERNELWIRE_KERNELS_DEVICE_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/device/early_reads.h"

namespace kernelwire {

/// Of a grid along x, on every device.
inline constexpr std::int64_t kMostBlocksOfGrid = 2147483647;

/// The size of a launch. Blocks lie along x: row numbers go far beyond what y and z can hold.
struct LaunchShape {
  std::int64_t blocks = 0;       // 0: nothing to do; at most kMostBlocksOfGrid
  unsigned threads = 0;          // per block
  std::size_t shared_bytes = 0;  // dynamic shared memory of a block
  unsigned cluster_blocks = 1;   // blocks per cluster; divides `blocks`; at most 16
  /// A cluster's blocks go where there is room, rather than to a multiprocessor each. Then one that has less to do than
  /// others gets more clusters, and latency is more.
  bool balances_clusters = false;
};

/// Whether the current device has what came with compute capability 9.0: clusters, and launches that overlap. GPUs of
/// unlike architecture in one process are refused, so one answer serves all.
inline bool DeviceHasClusters() {
  static const bool has = [] {
    int device = 0;
    int major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
  }();
  return has;
}

/// Brings a kernel's arguments, which must be `const __grid_constant__`, near the multiprocessor: the first read of
/// each line of them waits a few hundred cycles, and one read often decides which is the next.
template <typename Arguments>
__device__ __forceinline__ void FetchArguments(const Arguments& arguments) {
  constexpr std::size_t kLineBytes = 64;
  static_assert(sizeof(Arguments) % sizeof(unsigned) == 0);
  const auto word_at = [&](std::size_t byte) {
    unsigned word = 0;
    memcpy(&word, reinterpret_cast<const char*>(&arguments) + byte, sizeof(word));
    return word;
  };
  unsigned words = word_at(sizeof(Arguments) - sizeof(unsigned));
#pragma unroll
  for (std::size_t byte = 0; byte < sizeof(Arguments); byte += kLineBytes) {
    words |= word_at(byte);
  }
  // A use that cannot be left out, and that costs nothing.
  asm volatile(
      "{\n"
      "  .reg .pred all;\n"
      "  setp.eq.u32 all, %0, 0xFFFFFFFF;\n"
      "  @all nanosleep.u32 0;\n"
      "}\n" ::"r"(words)
      : "memory");
}

/// Whether a kernel's arguments say what it reads first.
template <typename Arguments, typename = void>
inline constexpr bool kHasEarlyReads = false;
template <typename Arguments>
inline constexpr bool kHasEarlyReads<Arguments, std::void_t<decltype(std::declval<const Arguments&>().early.lines)>> =
    true;

/// Asks the second-level cache for what the kernel reads first, a line of each tensor a thread.
template <typename Arguments>
__device__ __forceinline__ void FetchEarlyReads(const Arguments& arguments) {
  if constexpr (kHasEarlyReads<Arguments>) {
    const EarlyReads& early = arguments.early;
    const unsigned line = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int i = 0; i < EarlyReads::kMost; ++i) {
      if (line < early.lines[i]) {
        const char* const at = static_cast<const char*>(early.data[i]) + line * EarlyReads::kLineBytes;
        asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
      }
    }
  }
}

/// What every kernel begins with, but for numbers made of its parameters; of the first of these. LaunchKernel lets it
/// start while the one before still runs, so that the way from launch to first instruction, to the arguments, and from
/// memory to what it reads first is gone when its turn has come; here it waits until all before is done and visible.
/// From then on the next one may begin likewise, and not earlier: a third kernel that waits beside the second costs
/// more than having none wait (a short kernel in a row of its like, H200: 1.7 us if the next may begin before this has
/// waited, 1.1 after, 1.4 without any overlap).
template <typename Arguments>
__device__ __forceinline__ void AwaitEarlierWork(const Arguments& arguments) {
#if __CUDA_ARCH__ >= 900
  FetchArguments(arguments);
  FetchEarlyReads(arguments);
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#else
  static_cast<void>(arguments);
#endif
}

/// CUDA's form of a shape. `overlaps`: the kernel begins with AwaitEarlierWork.
class LaunchConfig {
 public:
  LaunchConfig(const LaunchShape& shape, cudaStream_t stream, bool overlaps) {
    config_.gridDim = dim3(static_cast<unsigned>(shape.blocks));
    config_.blockDim = dim3(shape.threads);
    config_.dynamicSmemBytes = shape.shared_bytes;
    config_.stream = stream;
    config_.attrs = attributes_;
    if (shape.cluster_blocks > 1) {
      cudaLaunchAttribute& cluster = attributes_[config_.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim.x = shape.cluster_blocks;
      cluster.val.clusterDim.y = 1;
      cluster.val.clusterDim.z = 1;
    }
    if (shape.balances_clusters) {
      cudaLaunchAttribute& policy = attributes_[config_.numAttrs++];
      policy.id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
      policy.val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicyLoadBalancing;
    }
    if (overlaps && DeviceHasClusters()) {
      cudaLaunchAttribute& overlap = attributes_[config_.numAttrs++];
      overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      overlap.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attributes_[3] = {};
  cudaLaunchConfig_t config_{};
};

/// The most shared memory that a block of the current device may have, by consent. One answer serves all, as above.
inline std::size_t MostSharedBytes() {
  static const int bytes = [] {
    int device = 0;
    int most = 0;
    const bool known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess;
    return known ? most : 0;
  }();
  return static_cast<std::size_t>(bytes);
}

/// Says to CUDA that `kernel` may use more than kernels usually may on the current device: all shared memory there is,
/// and large clusters. Not as much as one launch needs: another thread's would take that back.
inline cudaError_t ConsentToMost(const void* kernel) {
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error == cudaSuccess) {
    const std::size_t dynamic_bytes = MostSharedBytes() - attributes.sharedSizeBytes;
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(dynamic_bytes));
  }
  if (error == cudaSuccess && DeviceHasClusters()) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  }
  return error;
}

/// The same, unless this thread has done so before: a call of CUDA takes as long as a launch.
inline cudaError_t ConsentOnce(const void* kernel) {
  constexpr std::size_t kRemembered = 64;  // kernels; few, since every thread has the table on its stack
  struct Consent {
    const void* kernel;
    int device;
  };
  thread_local Consent consents[kRemembered] = {};
  Consent& last = consents[reinterpret_cast<std::uintptr_t>(kernel) / 16 % kRemembered];
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess && (last.kernel != kernel || last.device != device)) {
    error = ConsentToMost(kernel);
    last = {error == cudaSuccess ? kernel : nullptr, device};
  }
  return error;
}

/// Consents to what a launch of this shape needs.
template <typename... Parameters>
cudaError_t ConsentTo(void (*kernel)(Parameters...), const LaunchShape& shape) {
  constexpr std::size_t kSharedBytesWithoutConsent = 32 * 1024;  // 48 KiB, less what kernels have of their own
  constexpr unsigned kClusterBlocksWithoutConsent = 8;
  const bool needs_none =
      shape.shared_bytes <= kSharedBytesWithoutConsent && shape.cluster_blocks <= kClusterBlocksWithoutConsent;
  return needs_none ? cudaSuccess : ConsentOnce(reinterpret_cast<const void*>(kernel));
}

/// Enqueues `kernel`, which begins with AwaitEarlierWork, on `stream` and returns at once. A launch of no blocks
/// succeeds without touching the device. Errors: those of the launch itself; what happens inside the kernel shows at
/// the next synchronisation.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchKernel(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                         Arguments&&... arguments) {
  if (shape.blocks == 0) {
    return cudaSuccess;
  }
  if (shape.blocks < 0 || shape.blocks > kMostBlocksOfGrid) {
    return cudaErrorInvalidConfiguration;
  }
  const cudaError_t error = ConsentTo(kernel, shape);
  return error == cudaSuccess ? cudaLaunchKernelEx(LaunchConfig(shape, stream, true).get(), kernel,
                                                   std::forward<Arguments>(arguments)...)
                              : error;
}

/// How many clusters of this shape (blocks, where cluster_blocks is 1) the current device runs at a time, however many
/// the launch has; at least 1. A cluster stays within one group of multiprocessors, so they are fewer than the
/// multiprocessors suggest. Takes microseconds: to be asked once.
template <typename... Parameters>
std::int64_t ResidentClusters(void (*kernel)(Parameters...), const LaunchShape& shape) {
  int count = 0;
  const bool consented = ConsentTo(kernel, shape) == cudaSuccess;
  if (shape.cluster_blocks > 1) {
    LaunchShape one = shape;
    one.blocks = shape.cluster_blocks;
    const bool known = consented && cudaOccupancyMaxActiveClusters(
                                        &count, kernel, LaunchConfig(one, nullptr, false).get()) == cudaSuccess;
    return known && count > 0 ? count : 1;
  }
  int device = 0;
  int multiprocessors = 0;
  const bool known = consented && cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
                     cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, static_cast<int>(shape.threads),
                                                                   shape.shared_bytes) == cudaSuccess;
  return known && count > 0 ? std::int64_t{count} * multiprocessors : 1;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_LAUNCH_CUH_
