// Which GPUs a process serves.
#ifndef KERNELWIRE_SERVER_EXEC_DEVICE_LIST_H_
#define KERNELWIRE_SERVER_EXEC_DEVICE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/device/device_info.h"

namespace kernelwire {

/// What `--devices` = `wanted` means among the GPUs `present` (see ListCudaDevices): "" and "all" take every one, "0,2"
/// takes those, in that order. All taken GPUs are of one architecture: a request's bits are promised whichever of them
/// computes it.
/// Errors: INVALID_ARGUMENT (no such list, or an index twice), NOT_FOUND (no such GPU), FAILED_PRECONDITION (there is
/// none; its architecture is older than the kernels support; or the GPUs are unlike).
absl::StatusOr<std::vector<DeviceInfo>> CheckDevices(const std::string& wanted, const std::vector<DeviceInfo>& present);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_DEVICE_LIST_H_
