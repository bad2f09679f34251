// One client's unit of work after decoding: an operator, a plan, a way to get at its bytes, a deadline, one completion.
#ifndef KERNELWIRE_SERVER_BATCH_REQUEST_H_
#define KERNELWIRE_SERVER_BATCH_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/core/operator.h"
#include "kernels/core/plan.h"
#include "server/batch/clock.h"
#include "server/batch/request_part.h"
#include "server/memory/slab_pool.h"

namespace kernelwire {

/// When a request passed each stage; 0 = it did not. Of a request that was cut: when its last part did. Written by the
/// scheduler.
struct RequestTimes {
  Nanos submitted = 0;
  Nanos placed = 0;  // got its place in a slab, all parts at once
  Nanos staged = 0;  // bytes copied
  Nanos launched = 0;
  Nanos finished = 0;
  // Of the batch, as the device measured them; of several parts the sum:
  Nanos copy_in = 0;
  Nanos kernel = 0;
  Nanos copy_out = 0;
};

/// Where a stretch of each output lies: those of the rows of one part, by index in the spec.
struct CompletedPart {
  Slab* slab = nullptr;
  std::array<std::byte*, kMaxOutputs> data{};  // inside `slab`; null: not wanted
  std::array<std::size_t, kMaxOutputs> bytes{};
};

/// What became of a request. With an OK status an output is the stretches of `parts`, one after the other. Their slabs
/// are held for the length of the Complete call: who needs the bytes longer adds references.
struct Completion {
  absl::Status status;
  std::array<TensorDesc, kMaxOutputs> outputs{};  // by index in the spec; dtype kInvalid: not wanted
  absl::Span<const CompletedPart> parts;          // by their rows; one, unless the request was cut. Empty unless OK
};

/// A copy of an output's bytes; empty when it was not wanted. Requires: completion.status is OK.
std::vector<std::byte> CopyOfOutput(const Completion& completion, std::size_t output);

class Request;

/// Requests that wait for a slab, by rank, equals in the order of their coming. Each keeps its place, so that it leaves
/// at the same cost wherever it stands: thousands may expire together, and all threads wait meanwhile.
using WaitingLine = std::multimap<Nanos, Request*>;

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
  std::size_t message_bytes = 0;             // that the owner holds until InputsCopied; may be less than the inputs'
  bool may_be_cut = true;                    // whether CopyInput takes any stretch of an input; else only all of it

  // ---- called by the scheduler, never under its lock ----
  /// Copies bytes [offset, offset + bytes) of a present input, as staged, to `destination`. For every input of every
  /// part, by the thread that called Submit or ResumeStaging. An error ends the request.
  virtual absl::Status CopyInput(int input, std::size_t offset, std::size_t bytes, void* destination) = 0;
  /// Every input of every part has been copied: CopyInput will not be called again, and what it reads may go, long
  /// before the request ends. Once, by the same thread; not after an error.
  virtual void InputsCopied() {}
  /// A request that had to wait has got its place: arrange for a thread that may copy to call Scheduler::ResumeStaging.
  /// Must not block.
  virtual void Placed() = 0;
  /// The end. May destroy the request.
  virtual void Complete(const Completion& completion) = 0;

  const RequestTimes& times() const { return times_; }

 private:
  friend class Scheduler;
  friend class Batch;

  bool waiting() const { return !parts_.empty() && parts_[0].state == RequestPart::State::kWaiting; }

  // Guarded by the scheduler's mutex.
  absl::InlinedVector<RequestPart, 1> parts_;
  std::size_t parts_left_ = 0;  // parts that have not ended; 0 before Submit and after the end
  absl::Status end_;            // what the request ends with; the first failure of a part stays
  std::uint32_t device_ = 0;
  Nanos rank_ = 0;                       // smaller goes first; see Scheduler
  WaitingLine::iterator place_in_line_;  // while it waits
  std::size_t slab_bytes_ = 0;           // what each part takes of a slab, alignment included
  std::int64_t budget_bytes_ = 0;
  RequestTimes times_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_REQUEST_H_
