// The scheduler: admits requests, packs them into batches by key, and gives batches to lanes. Pure: no gRPC, no CUDA,
// no thread of its own, no clock but the one it is given.
//
// Policy. A request joins the open batch of its key, or opens one if the device's pool has a slab; else it waits. A
// batch is launched when a lane is free and its members' bytes are in place; while all lanes are busy it stays open and
// gathers company. So an idle server never waits, and a busy one batches. `max_queue_delay` of a model makes its
// batches wait that long for company even when a lane is free.
//
// Cutting. A request that needs more than a batch's slab is cut by its rows, where its plan allows that, into parts
// that run as batches of their own on whatever lanes are free: while one is computed, the next is being copied. It gets
// the slabs of all its parts at once or waits in line without any, so two such requests never wait for each other's.
// All parts end as one: the first failure is the request's, parts that were not launched leave, results are dropped. Of
// the operator, `check_inputs` sees each part by itself, with the part's rows as Plan::rows; `finish` is not called for
// a request that was cut, so a plan whose results need it gives no row_bytes.
//
// Order. Batches go to lanes by the smallest rank of their members: rank = min(deadline, arrival + 1 s) + 100 ms for
// each priority level below the first (0, the default, counts as level 11). So earlier deadlines go first, then older
// requests, priority is worth waiting time, and everybody's turn comes.
//
// Invariants, all under one mutex: (1) a part is in exactly one place: waiting list (with its request), a batch, or
// ended; (2) a slab is held by one batch at most; (3) a lane runs one batch at most; (4) Complete is called once for
// each submitted request, by whoever ends its last part; (5) nothing is copied, computed or completed while the mutex
// is held; (6) a placed part is ended only by the thread that copies, so a request lives until its last part is staged.
#ifndef KERNELWIRE_SERVER_BATCH_SCHEDULER_H_
#define KERNELWIRE_SERVER_BATCH_SCHEDULER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "server/batch/batch.h"
#include "server/batch/clock.h"
#include "server/batch/device.h"
#include "server/batch/request.h"

namespace kernelwire {

struct SchedulerOptions {
  std::int64_t max_outstanding_bytes = std::int64_t{1} << 30;  // messages and outputs admitted, replies still unread
  std::int64_t max_outstanding_requests = 16384;
  /// Slab of a new batch. A request that needs more is cut, or gets a larger one for itself.
  std::size_t batch_slab_bytes = std::size_t{1} << 20;
  std::size_t max_batch_requests = 1024;
  std::int64_t max_batch_rows = std::int64_t{1} << 31;
  std::size_t max_reply_bytes = std::size_t{1} << 30;
  std::vector<Nanos> max_queue_delay;  // by operator index; missing = 0
};

/// A look at the scheduler for metrics; the numbers belong together.
struct SchedulerSnapshot {
  struct PerDevice {
    std::int64_t waiting_requests = 0;  // admitted, no slab yet
    std::int64_t pending_batches = 0;   // open or sealed, no lane yet
    int lanes_busy = 0;
    int lanes = 0;
    bool lost = false;
  };
  std::int64_t outstanding_bytes = 0;
  std::int64_t outstanding_requests = 0;
  std::vector<PerDevice> devices;
};

class Scheduler {
 public:
  /// `devices` and `clock` outlive every call; the destructor touches neither. `batch_finished` is told of every batch
  /// that ran (metrics), without a lock held, before its members complete. `poll_wanted` is called, without a lock and
  /// from any thread, when Poll should be called soon; it must not block.
  Scheduler(const SchedulerOptions& options, const Clock* clock, const std::vector<Device*>& devices,
            std::function<void(const Batch&)> batch_finished, std::function<void()> poll_wanted);
  ~Scheduler();

  /// Admits the request. Only if OK does the scheduler take it (and its share of the budgets); it may then already have
  /// been completed when Submit returns. In the ordinary case this thread copies the bytes and starts the launch.
  /// Errors: UNAVAILABLE (draining, device lost; with a hint), DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED (budget full: with
  /// a hint; larger than any slab or reply may be: without).
  absl::Status Submit(Request* request);

  /// Goes on with a request after Request::Placed.
  void ResumeStaging(Request* request);

  /// The client went away: dropped if it is not running yet, otherwise its result is. Harmless after the end.
  void Cancel(Request* request);

  /// Gives back the request's share of the budgets: by the owner, once, when the reply has left or was dropped.
  void ReleaseBudget(const Request& request);

  /// What is due: expired requests, slabs that came back, queue delays. Returns when it wants to be called again at the
  /// latest. One thread at a time.
  Nanos Poll();

  /// From now on Submit refuses. What is admitted goes on.
  void Drain();
  /// Ends everything that is not running with `status`, and refuses what comes for that device.
  void FailDevice(std::size_t device, const absl::Status& status);

  SchedulerSnapshot Snapshot() const;

 private:
  struct DeviceState {
    Device* device = nullptr;
    std::vector<int> free_lanes;
    std::vector<Batch*> pending;  // open and sealed
    absl::flat_hash_map<BatchKey, Batch*> open;
    WaitingLine waiting;
    std::set<std::pair<Nanos, Request*>> deadlines;  // of those in line: a look for what is due passes no others
    std::int64_t outstanding_bytes = 0;
    absl::Status lost;  // not OK: nothing runs here any more
  };
  /// What a critical section leaves to be done once the mutex is released.
  struct Aftermath {
    absl::InlinedVector<Request*, 2> failed;  // their last part has ended
    absl::InlinedVector<Slab*, 2> slabs;
    bool wake_poller = false;
  };

  // scheduler.cc, the way in; under the mutex unless it says otherwise.
  absl::Status Admit(Request* request, Nanos now);
  absl::Status CheckBudgets(const Request& request);
  std::int64_t RetryMilliseconds();
  std::size_t ChooseDevice(const Request& request) const;  // devices_.size() when all that will do are lost
  bool Place(Request* request, Nanos now, bool first_in_line);
  bool PlaceParts(DeviceState& device, Request* request);
  Batch* JoinableBatch(DeviceState& device, const Request& request);
  Batch* OpenBatch(DeviceState& device, const Request& request, Nanos now);
  Batch* MakeBatch(DeviceState& device, const Request& request, Slab* slab);
  void Wait(Request* request);

  // scheduler_stage.cc, bytes into slabs.
  void Stage(Request* request);                           // without the mutex
  bool StagePart(RequestPart* part);                      // without the mutex
  static absl::Status CopyPart(const RequestPart& part);  // without the mutex
  bool Staged(RequestPart* part, absl::Status status, Nanos now, Aftermath* after);
  void SealOrWatch(Batch* batch, Nanos deadline, Nanos now, Aftermath* after);

  // scheduler_turn.cc, whose turn it is, and time.
  Batch* TakeReady(DeviceState& device, Nanos now, Aftermath* after);
  Nanos NextPoll(Nanos now) const;
  void DropExpired(DeviceState& device, Nanos now, Aftermath* after);
  void DropExpired(Batch* batch, Nanos now, Aftermath* after);

  // scheduler_exit.cc, the way out.
  void Dispatch(Batch* batch);                        // without the mutex
  void FinishedHere(Batch* batch);                    // without the mutex
  void FinishedElsewhere(Batch* batch);               // without the mutex: the devices' callback
  Batch* ReturnLane(Batch* batch, Aftermath* after);  // takes the mutex
  bool EndComputed(RequestPart* part, Aftermath* after);
  void CompleteMembers(Batch* batch);                          // without the mutex
  static void CompleteComputed(Request* request, Slab* slab);  // without the mutex
  void Fail(Request* request, const absl::Status& status, Aftermath* after);
  void Leave(RequestPart* part, Aftermath* after);
  void LeaveLine(DeviceState& device, Request* request);
  void EndWaiting(DeviceState& device, Request* request, const absl::Status& status, Aftermath* after);
  void RemovePending(Batch* batch);
  void Recycle(Batch* batch);
  void Settle(Aftermath* after);  // without the mutex

  const SchedulerOptions options_;
  const Clock* const clock_;
  const std::function<void(const Batch&)> batch_finished_;
  const std::function<void()> poll_wanted_;

  mutable std::mutex mutex_;
  std::vector<DeviceState> devices_;
  std::vector<std::unique_ptr<Batch>> all_batches_;
  std::vector<Batch*> spare_batches_;
  bool draining_ = false;
  Nanos next_poll_ = kNever;     // when Poll has been promised to be called
  double nanos_per_byte_ = 0.1;  // smoothed: how fast work has been leaving
  Nanos last_finish_ = 0;
  std::uint32_t jitter_ = 1;

  std::atomic<std::int64_t> waiting_requests_{0};  // read by the pools' listeners, which may not lock
  std::atomic<std::int64_t> outstanding_bytes_{0};
  std::atomic<std::int64_t> outstanding_requests_{0};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BATCH_SCHEDULER_H_
