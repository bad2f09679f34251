// One client's unit of work after decoding: an operator, a plan, a way to get at its bytes, a deadline, one completion.
#ifndef KERNELWIRE_SERVER_BATCH_REQUEST_H_
#define KERNELWIRE_SERVER_BATCH_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "kernels/core/plan.h"
#include "server/batch/clock.h"
#include "server/memory/slab_pool.h"

namespace kernelwire {

class Batch;

/// When a request passed each stage; 0 = it did not. Written by the scheduler.
struct RequestTimes {
  Nanos submitted = 0;
  Nanos placed = 0;  // got its place in a slab
  Nanos staged = 0;  // bytes copied
  Nanos launched = 0;
  Nanos finished = 0;
  // Of the batch, as the device measured them:
  Nanos copy_in = 0;
  Nanos kernel = 0;
  Nanos copy_out = 0;
};

/// What became of a request. With an OK status, `outputs` are in the spec's order and point into `slab`, which is held
/// for the length of the Complete call: who needs the bytes longer adds a reference. Otherwise `slab` is null.
struct Completion {
  absl::Status status;
  Slab* slab = nullptr;
  std::array<FinishedOutput, kMaxOutputs> outputs{};
};

/// Implemented by the transport. The scheduler holds a pointer from a successful Submit until it has called Complete,
/// which it does exactly once. The object must stay valid, in addition, until every Cancel call on it has returned.
class Request {
 public:
  virtual ~Request() = default;

  // ---- set by the owner before Submit, constant afterwards ----
  const Operator* op = nullptr;
  std::uint32_t op_index = 0;  // in AllOperators(): for metrics
  Plan plan;
  PlanRequest plan_request;  // its attributes stay valid as long as the request
  Nanos deadline = kNever;
  std::uint32_t priority = 0;                // 1 = first ... ; 0 = default
  int wanted_device = -1;                    // index in the scheduler's devices; -1 = the least loaded
  std::size_t input_bytes[kMaxInputs] = {};  // of present inputs, as staged

  // ---- called by the scheduler, never under its lock ----
  /// Copies every present input to its place (`destinations` in the spec's order, null for absent ones). Once, by the
  /// thread that called Submit or ResumeStaging. Errors end the request.
  virtual absl::Status CopyInputs(void* const* destinations) = 0;
  /// A request that had to wait has got its place: arrange for a thread that may copy to call Scheduler::ResumeStaging.
  /// Must not block.
  virtual void Placed() = 0;
  /// The end. May destroy the request.
  virtual void Complete(const Completion& completion) = 0;

  const RequestTimes& times() const { return times_; }

 private:
  friend class Scheduler;
  friend class Batch;
  // Waiting: admitted, no slab yet. Placed: has a place in an open or sealed batch, bytes not copied. Staged: copied.
  // Running: launched. Ended: Complete has been or is about to be called.
  enum class State : std::uint8_t { kNew, kWaiting, kPlaced, kStaged, kRunning, kEnded };

  // Guarded by the scheduler's mutex.
  State state_ = State::kNew;
  bool cancelled_ = false;
  std::uint32_t device_ = 0;
  std::uint32_t member_ = 0;  // index in batch_
  Batch* batch_ = nullptr;
  Nanos rank_ = 0;              // smaller goes first; see Scheduler
  std::size_t slab_bytes_ = 0;  // what it takes of a slab, alignment included
  std::int64_t budget_bytes_ = 0;
  RequestTimes times_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_REQUEST_H_
