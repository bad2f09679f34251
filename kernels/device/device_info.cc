#include "kernels/device/device_info.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/device/cuda_status.h"

namespace kernelwire {
namespace {

std::string FormatUuid(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    const bool group_starts = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    absl::StrAppend(&text, group_starts ? "-" : "",
                    absl::Hex(static_cast<unsigned char>(uuid.bytes[i]), absl::kZeroPad2));
  }
  return text;
}

}  // namespace

int UsableDeviceCount(std::string* why_none) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) {
    return count;
  }
  static_cast<void>(cudaGetLastError());  // a launch elsewhere must not find this error and report it as its own
  if (why_none != nullptr) {
    *why_none = error == cudaSuccess ? "no CUDA device is visible" : cudaGetErrorString(error);
  }
  return 0;
}

absl::StatusOr<DeviceInfo> DescribeDevice(int index) {
  cudaDeviceProp properties;
  KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, index));
  DeviceInfo info;
  info.index = index;
  info.name = properties.name;
  info.uuid = FormatUuid(properties.uuid);
  info.pci = absl::StrFormat("%04x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID);
  info.major = properties.major;
  info.minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.memory_bytes = properties.totalGlobalMem;
  return info;
}

}  // namespace kernelwire
