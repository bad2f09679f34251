// Which GPUs there are.
#ifndef KERNELWIRE_KERNELS_DEVICE_DEVICE_INFO_H_
#define KERNELWIRE_KERNELS_DEVICE_DEVICE_INFO_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace kernelwire {

/// One GPU, as it describes itself.
struct DeviceInfo {
  int index = 0;     // CUDA's number of it in this process
  std::string name;  // "NVIDIA H200"
  std::string uuid;  // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as nvidia-smi prints it
  std::string pci;   // "0000:3b:00.0": domain, bus, device, function
  int major = 0;     // compute capability
  int minor = 0;
  int sm_count = 0;  // multiprocessors
  std::size_t memory_bytes = 0;
};

/// How many GPUs this process can use. A machine without GPU or driver is no error: 0, and `why_none` (may be null)
/// gets CUDA's reason. Thread-safe; makes no context.
int UsableDeviceCount(std::string* why_none = nullptr);

/// Requires: 0 <= index < UsableDeviceCount(). Errors: those of CudaStatus. Thread-safe.
absl::StatusOr<DeviceInfo> DescribeDevice(int index);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_DEVICE_INFO_H_
