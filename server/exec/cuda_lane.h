// A CUDA lane: a stream, its events and tickets, and the batch that is on it. Builds with CUDA only.
#ifndef KERNELWIRE_SERVER_EXEC_CUDA_LANE_H_
#define KERNELWIRE_SERVER_EXEC_CUDA_LANE_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/event.h"
#include "kernels/device/launch_tickets.h"
#include "kernels/device/stream.h"
#include "server/batch/batch.h"
#include "server/batch/clock.h"

namespace kernelwire {

/// The first CUDA call of a batch that failed, if one did.
struct CudaFailure {
  cudaError_t error = cudaSuccess;
  const char* call = "";
};

/// One batch at a time. A thread starts it and then sets `in_flight`; from there on the thread that waits for events
/// owns the lane, until it clears `in_flight`. The lane's device is current in both.
class CudaLane {
 public:
  /// On the current device. Errors: CUDA's.
  static absl::StatusOr<std::unique_ptr<CudaLane>> Create();

  /// What a batch may need beyond the usual before it may take long.
  static constexpr Nanos kLong = 500'000'000;

  /// Puts the batch on the stream: nothing allocated, nothing awaited. After `hang_after` from `now` on, and what its
  /// operator may need at worst, it counts as hung.
  /// What is on the stream cannot be taken back when a later call fails. So even then the lane is waited for before the
  /// batch, and with it its slab, is let go. False: its end could not be marked, so there is nothing to wait for.
  bool Start(Batch& batch, bool in_place, Nanos now, Nanos hang_after);

  /// cudaSuccess: the work is over; cudaErrorNotReady: not yet; anything else ended it, and the device with it.
  cudaError_t Query() const { return cudaEventQuery(done_.get()); }

  /// Writes the times that the events tell into the batch. After Query has said cudaSuccess.
  void ReadTimes();

  Batch& batch() const { return *batch_; }
  /// Whether the batch may take long for a good reason: others may have to wait for it on the device.
  bool may_take_long() const { return time_limit_ - hang_after_ >= kLong; }
  Nanos give_up_at() const { return started_at_ + time_limit_ + waited_; }
  Nanos time_limit() const { return time_limit_; }  // without what it waited for others

  /// The time since `since`, or the start if that was later, was that of another lane and does not count; once only.
  void WaitedSince(Nanos since, Nanos now) {
    waited_ += now - std::max({since, started_at_, waited_until_});
    waited_until_ = now;
  }
  Nanos started_at() const { return started_at_; }
  const CudaFailure& failure() const { return failure_; }

  std::atomic<bool> in_flight{false};

 private:
  CudaLane(Stream stream, LaunchTickets tickets, Event begin, Event copied_in, Event computed, Event done);

  bool Enqueue(const Launch& launch);
  bool CopyIn();
  bool CopyOut();
  bool Try(cudaError_t error, const char* call);
  Nanos Between(const Event& from, const Event& to);

  const Stream stream_;
  const LaunchTickets tickets_;  // of this stream only: lanes run at the same time
  const Event begin_, copied_in_, computed_, done_;
  Batch* batch_ = nullptr;
  bool in_place_ = false;
  Nanos started_at_ = 0;
  Nanos hang_after_ = 0;
  Nanos time_limit_ = 0;
  Nanos waited_ = 0;
  Nanos waited_until_ = 0;
  CudaFailure failure_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_CUDA_LANE_H_
