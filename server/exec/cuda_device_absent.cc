// What cuda_device.h offers in a build without CUDA.
#include "server/exec/cuda_device.h"

namespace kernelwire {
namespace {

absl::Status NotBuilt() {
  return absl::FailedPreconditionError(
      "this build has no CUDA kernels: expected one configured with KERNELWIRE_CUDA=ON");
}

}  // namespace

void LoadKernelsAtStart() {}

absl::StatusOr<std::vector<DeviceInfo>> ListCudaDevices() { return NotBuilt(); }

absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const CudaDeviceOptions& /*options*/) { return NotBuilt(); }

}  // namespace kernelwire
