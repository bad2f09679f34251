#include "kernels/testing/cuda_runner.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/status_macros.h"
#include "kernels/device/buffer.h"
#include "kernels/device/cuda_status.h"
#include "kernels/device/device_info.h"
#include "kernels/device/launch_tickets.h"
#include "kernels/device/stream.h"
#include "kernels/testing/launch_image.h"

namespace kernelwire::testing {
namespace {

/// An image's counterpart on the device, guard bands and all, and its table. cudaMalloc starts allocations at multiples
/// of 512, so a payload lies at an odd multiple of 256 there too.
class Mirror {
 public:
  explicit Mirror(const LaunchImage& image) : image_(image) {}

  absl::Status Upload(cudaStream_t stream) {
    for (const GuardedBuffer& buffer : image_.buffers()) {
      KERNELWIRE_RETURN_IF_ERROR(Add(buffer.allocation(), buffer.allocation_size(), stream));
    }
    segments_ = image_.Segments([this](const GuardedBuffer& buffer) { return Locate(buffer); });
    return Add(segments_.data(), segments_.size() * sizeof(Segment), stream);
  }

  absl::Status Download(cudaStream_t stream) const {
    const std::vector<GuardedBuffer>& buffers = image_.buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(buffers[i].allocation(), memories_[i].data(),
                                                      buffers[i].allocation_size(), cudaMemcpyDeviceToHost, stream));
    }
    return absl::OkStatus();
  }

  /// Requires: Upload has succeeded.
  Launch LaunchOf(const Plan& plan, const LaunchTickets& tickets) const {
    Launch launch;
    launch.plan = &plan;
    launch.segments = segments_.data();
    launch.device_segments = reinterpret_cast<const Segment*>(memories_.back().data());
    launch.segment_count = static_cast<int>(segments_.size());
    launch.total_rows = image_.total_rows();
    launch.tickets = tickets.data();
    return launch;
  }

 private:
  absl::Status Add(const void* from, std::size_t bytes, cudaStream_t stream) {
    KERNELWIRE_ASSIGN_OR_RETURN(DeviceBuffer memory, DeviceBuffer::Create(bytes));
    KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(memory.data(), from, bytes, cudaMemcpyHostToDevice, stream));
    memories_.push_back(std::move(memory));
    return absl::OkStatus();
  }

  /// Requires: `buffer` is one of the image's.
  std::byte* Locate(const GuardedBuffer& buffer) const {
    const auto index = static_cast<std::size_t>(&buffer - image_.buffers().data());
    return memories_[index].data() + buffer.payload_offset();
  }

  const LaunchImage& image_;
  std::vector<DeviceBuffer> memories_;  // of the buffers, and last of the table
  std::vector<Segment> segments_;
};

class CudaDeviceRunner final : public DeviceRunner {
 public:
  CudaDeviceRunner(Stream stream, LaunchTickets tickets) : stream_(std::move(stream)), tickets_(std::move(tickets)) {}

  static absl::StatusOr<std::unique_ptr<DeviceRunner>> Create() {
    KERNELWIRE_ASSIGN_OR_RETURN(Stream stream, Stream::Create());
    KERNELWIRE_ASSIGN_OR_RETURN(LaunchTickets tickets, LaunchTickets::Create(stream.get()));
    return std::make_unique<CudaDeviceRunner>(std::move(stream), std::move(tickets));
  }

  std::string name() const override { return "cuda"; }

 protected:
  absl::Status Execute(const Operator& op, const std::vector<ImageLaunch>& launches, int /*pass*/) override {
    if (op.launch_cuda == nullptr) {
      return absl::UnimplementedError("operator '" + op.spec.name + "' has no CUDA kernel");
    }
    const cudaStream_t stream = stream_.get();
    std::vector<Mirror> mirrors;
    for (const ImageLaunch& one : launches) {
      mirrors.emplace_back(*one.image);
      KERNELWIRE_RETURN_IF_ERROR(mirrors.back().Upload(stream));
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const Launch launch = mirrors[i].LaunchOf(*launches[i].plan, tickets_);
      KERNELWIRE_RETURN_IF_ERROR(CudaStatus(static_cast<cudaError_t>(op.launch_cuda(launch, stream)), "launch_cuda"));
    }
    KERNELWIRE_RETURN_IF_ERROR(stream_.Synchronize());
    for (const Mirror& mirror : mirrors) {
      KERNELWIRE_RETURN_IF_ERROR(mirror.Download(stream));
    }
    KERNELWIRE_RETURN_IF_ERROR(stream_.Synchronize());
    return CheckTickets(op);
  }

 private:
  absl::Status CheckTickets(const Operator& op) const {
    std::vector<std::uint32_t> tickets(kLaunchWords);
    KERNELWIRE_RETURN_IF_CUDA_ERROR(
        cudaMemcpy(tickets.data(), tickets_.data(), LaunchTickets::kBytes, cudaMemcpyDeviceToHost));
    const bool zero = std::all_of(tickets.begin(), tickets.end(), [](std::uint32_t ticket) { return ticket == 0; });
    return zero ? absl::OkStatus()
                : absl::InternalError("operator '" + op.spec.name + "' left tickets of its launch that are not zero");
  }

  const Stream stream_;
  const LaunchTickets tickets_;  // of all launches: a launch that leaves them wrong is told at once
};

}  // namespace

DeviceRunner* CudaRunner(std::string* why_none) {
  if (UsableDeviceCount(why_none) == 0) {
    return nullptr;
  }
  static const auto* const runner = new absl::StatusOr<std::unique_ptr<DeviceRunner>>(CudaDeviceRunner::Create());
  if (!runner->ok()) {
    *why_none = std::string(runner->status().message());
    return nullptr;
  }
  return (*runner)->get();
}

}  // namespace kernelwire::testing
