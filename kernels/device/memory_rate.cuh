// How fast a device's memory is beside its arithmetic.
#ifndef KERNELWIRE_KERNELS_DEVICE_MEMORY_RATE_CUH_
#define KERNELWIRE_KERNELS_DEVICE_MEMORY_RATE_CUH_

#include <cuda_runtime.h>

namespace kernelwire {

/// Bytes that memory brings each multiprocessor of `device` in a cycle at most: 12.8 on an H100, some 18 on an H200. 0
/// where the driver does not say.
inline double MemoryBytesPerCycle(int device) {
  int memory_khz = 0;
  int bus_bits = 0;
  int clock_khz = 0;
  int multiprocessors = 0;
  const bool known = cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess;
  constexpr double kPerCycle = 2;  // double data rate
  return known && clock_khz > 0 && multiprocessors > 0
             ? kPerCycle * memory_khz * bus_bits / 8 / clock_khz / multiprocessors
             : 0;
}

/// Whether that is so much that what multiprocessors wait for is themselves. Of the current device; one answer serves
/// all, and another would change no result.
inline bool DeviceHasFastMemory() {
  constexpr double kFast = 15;
  static const bool has = [] {
    int device = 0;
    return cudaGetDevice(&device) == cudaSuccess && MemoryBytesPerCycle(device) > kFast;
  }();
  return has;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_MEMORY_RATE_CUH_
