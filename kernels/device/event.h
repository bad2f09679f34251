// An owned CUDA event: "has the work before this point run?", and when.
#ifndef KERNELWIRE_KERNELS_DEVICE_EVENT_H_
#define KERNELWIRE_KERNELS_DEVICE_EVENT_H_

#include <cuda_runtime_api.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/cuda_status.h"

namespace kernelwire {

/// Belongs to the device that was current when it was made. Movable.
class Event {
 public:
  /// Timing makes recording and waiting dearer; an event that only orders work goes without.
  enum class Timing { kDisabled, kEnabled };

  static absl::StatusOr<Event> Create(Timing timing = Timing::kDisabled) {
    cudaEvent_t event = nullptr;
    const unsigned flags = timing == Timing::kEnabled ? cudaEventDefault : cudaEventDisableTiming;
    KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, flags));
    return Event(event);
  }

  cudaEvent_t get() const { return event_.get(); }

  /// Marks the point after everything enqueued on `stream` so far.
  absl::Status Record(cudaStream_t stream) const {
    return CudaStatus(cudaEventRecord(get(), stream), "cudaEventRecord");
  }

  /// Whether the recorded point has been reached; true for an event that was never recorded.
  /// Errors: those of the work before it.
  absl::StatusOr<bool> Reached() const {
    const cudaError_t error = cudaEventQuery(get());
    if (error == cudaErrorNotReady) {
      return false;
    }
    if (error != cudaSuccess) {
      return CudaStatus(error, "cudaEventQuery");
    }
    return true;
  }

  /// Blocks, spinning, until the recorded point has been reached. Errors: those of the work before it.
  absl::Status Synchronize() const { return CudaStatus(cudaEventSynchronize(get()), "cudaEventSynchronize"); }

  /// Milliseconds from `start` to this one. Requires: both have timing and have been reached.
  absl::StatusOr<float> MillisecondsSince(const Event& start) const {
    float milliseconds = 0.0F;
    KERNELWIRE_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start.get(), get()));
    return milliseconds;
  }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
  };
  explicit Event(cudaEvent_t event) : event_(event) {}

  std::unique_ptr<CUevent_st, Destroy> event_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_DEVICE_EVENT_H_
