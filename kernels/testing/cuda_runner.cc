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

/// A host buffer's counterpart on the device, guard bands and all. cudaMalloc starts allocations at multiples of 512,
/// so the payload lies at an odd multiple of 256 there too.
class Mirrors {
 public:
  explicit Mirrors(const std::vector<GuardedBuffer>& buffers) : buffers_(buffers) {}

  absl::Status Upload(cudaStream_t stream) {
    for (const GuardedBuffer& buffer : buffers_) {
      KERNELWIRE_ASSIGN_OR_RETURN(DeviceBuffer memory, DeviceBuffer::Create(buffer.allocation_size()));
      KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(memory.data(), buffer.allocation(), buffer.allocation_size(),
                                                      cudaMemcpyHostToDevice, stream));
      memories_.push_back(std::move(memory));
    }
    return absl::OkStatus();
  }

  absl::Status Download(cudaStream_t stream) const {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(buffers_[i].allocation(), memories_[i].data(),
                                                      buffers_[i].allocation_size(), cudaMemcpyDeviceToHost, stream));
    }
    return absl::OkStatus();
  }

  /// Requires: `buffer` is one of the vector given.
  std::byte* Locate(const GuardedBuffer& buffer) const {
    const auto index = static_cast<std::size_t>(&buffer - buffers_.data());
    return memories_[index].data() + buffer.payload_offset();
  }

 private:
  const std::vector<GuardedBuffer>& buffers_;
  std::vector<DeviceBuffer> memories_;
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
  absl::Status Execute(const Operator& op, const Plan& plan, const LaunchImage& image, int /*pass*/) override {
    if (op.launch_cuda == nullptr) {
      return absl::UnimplementedError("operator '" + op.spec.name + "' has no CUDA kernel");
    }
    const cudaStream_t stream = stream_.get();
    Mirrors mirrors(image.buffers());
    KERNELWIRE_RETURN_IF_ERROR(mirrors.Upload(stream));
    const std::vector<Segment> segments =
        image.Segments([&](const GuardedBuffer& buffer) { return mirrors.Locate(buffer); });
    const std::size_t table_bytes = segments.size() * sizeof(Segment);
    KERNELWIRE_ASSIGN_OR_RETURN(const DeviceBuffer table, DeviceBuffer::Create(table_bytes));
    KERNELWIRE_RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(table.data(), segments.data(), table_bytes, cudaMemcpyHostToDevice, stream));

    Launch launch;
    launch.plan = &plan;
    launch.segments = segments.data();
    launch.device_segments = reinterpret_cast<const Segment*>(table.data());
    launch.segment_count = static_cast<int>(segments.size());
    launch.total_rows = image.total_rows();
    launch.tickets = tickets_.data();
    KERNELWIRE_RETURN_IF_ERROR(CudaStatus(static_cast<cudaError_t>(op.launch_cuda(launch, stream)), "launch_cuda"));
    KERNELWIRE_RETURN_IF_ERROR(stream_.Synchronize());
    KERNELWIRE_RETURN_IF_ERROR(mirrors.Download(stream));
    KERNELWIRE_RETURN_IF_ERROR(stream_.Synchronize());
    return CheckTickets(op);
  }

 private:
  absl::Status CheckTickets(const Operator& op) const {
    std::vector<std::uint32_t> tickets(kLaunchTickets);
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
