// The tickets that launches of a stream share.
#ifndef KERNELWIRE_KERNELS_DEVICE_LAUNCH_TICKETS_H_
#define KERNELWIRE_KERNELS_DEVICE_LAUNCH_TICKETS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/launch_arrivals.h"
#include "kernels/core/status_macros.h"
#include "kernels/device/buffer.h"
#include "kernels/device/cuda_status.h"

namespace kernelwire {

/// What Launch::tickets points at: one a stream, as long as anything is launched on it. Movable; must outlive the
/// stream's work.
class LaunchTickets {
 public:
  static constexpr std::size_t kBytes = kLaunchWords * sizeof(std::uint32_t);

  /// On the current device. They are zero for everything that is enqueued on `stream` from now on. Errors: CUDA's.
  static absl::StatusOr<LaunchTickets> Create(cudaStream_t stream) {
    KERNELWIRE_ASSIGN_OR_RETURN(DeviceBuffer memory, DeviceBuffer::Create(kBytes));
    KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(memory.data(), 0, kBytes, stream));
    return LaunchTickets(std::move(memory));
  }

  std::uint32_t* data() const { return reinterpret_cast<std::uint32_t*>(memory_.data()); }

 private:
  explicit LaunchTickets(DeviceBuffer memory) : memory_(std::move(memory)) {}

  DeviceBuffer memory_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_LAUNCH_TICKETS_H_
