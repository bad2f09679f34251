#include "server/memory/pinned_region.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "kernels/device/buffer.h"
#include "kernels/device/cuda_status.h"

namespace kernelwire {
namespace {

class PinnedRegion final : public StagingRegion {
 public:
  PinnedRegion(PinnedBuffer pinned, DeviceBuffer counterpart)
      : pinned_(std::move(pinned)), counterpart_(std::move(counterpart)) {
    host_ = pinned_.data();
    device_ = counterpart_.data();
    bytes_ = pinned_.size();
  }

 private:
  const PinnedBuffer pinned_;
  const DeviceBuffer counterpart_;
};

absl::Status Without(const absl::Status& cause, const std::string& what, std::size_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("flag --staging_bytes: expected ", bytes, " bytes of ", what, ", got none: ", cause.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StagingRegion>> MakePinnedRegion(int device, std::size_t bytes) {
  KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaSetDevice(device));
  absl::StatusOr<PinnedBuffer> pinned = PinnedBuffer::Create(bytes);
  if (!pinned.ok()) {
    return Without(pinned.status(), "pinned host memory (see also the limit on locked memory)", bytes);
  }
  // Small batches are computed in place, over the host's own addresses. That takes unified addressing, which every
  // 64-bit Linux has; a platform without it is refused here rather than answered wrongly later.
  if (pinned->device_data() != pinned->data()) {
    return absl::FailedPreconditionError(absl::StrCat("device cuda:", device,
                                                      ": expected unified addressing, got another address for pinned "
                                                      "memory on the device than on the host"));
  }
  absl::StatusOr<DeviceBuffer> counterpart = DeviceBuffer::Create(bytes);
  if (!counterpart.ok()) {
    return Without(counterpart.status(), absl::StrCat("memory on cuda:", device), bytes);
  }
  return std::make_unique<PinnedRegion>(*std::move(pinned), *std::move(counterpart));
}

}  // namespace kernelwire
