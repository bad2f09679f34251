#include "server/exec/cuda_device.h"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"
#include "kernels/device/cuda_status.h"
#include "server/exec/cuda_lane.h"
#include "server/exec/thread_name.h"
#include "server/memory/pinned_region.h"

namespace kernelwire {
namespace {

constexpr Nanos kShortestHang = 1'000'000'000;
constexpr unsigned long kTimerSlack = 1'000;  // nanoseconds; by default Linux lengthens every pause by up to 50 us

/// Threads launch batches on their lanes; one thread of the device waits for the ends of all of them.
class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaDeviceOptions& options, std::unique_ptr<StagingRegion> region,
             std::vector<std::unique_ptr<CudaLane>> lanes);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const std::string& name() const override { return name_; }
  int lane_count() const override { return static_cast<int>(lanes_.size()); }
  SlabPool& slabs() override { return *slabs_; }
  void SetFinishedCallback(std::function<void(Batch&)> callback) override { finished_ = std::move(callback); }
  bool Run(Batch& batch) override;

 private:
  bool InPlace(const Batch& batch) const;
  void Announce();
  void Watch();
  std::uint64_t FinishLanes();
  bool IsOver(CudaLane& lane);
  bool Hangs(const CudaLane& lane) const;
  void Finish(CudaLane& lane);
  bool Sleep(std::uint64_t seen, bool idle);
  absl::Status Describe(const CudaFailure& failure) const;
  void Lose(const absl::Status& status, bool hung = false);

  const CudaDeviceOptions options_;
  const std::string name_;
  const SteadyClock clock_;
  std::unique_ptr<SlabPool> slabs_;
  std::vector<std::unique_ptr<CudaLane>> lanes_;
  std::function<void(Batch&)> finished_;

  std::atomic<std::uint64_t> announced_{0};  // batches that are on a lane, or will be in a moment
  std::atomic<bool> asleep_{false};          // written under mutex_
  std::atomic<bool> lost_{false};            // lost_status_ is constant once this is true
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  absl::Status lost_status_;
  std::thread watcher_;  // last: it uses all of the above
};

CudaDevice::CudaDevice(const CudaDeviceOptions& options, std::unique_ptr<StagingRegion> region,
                       std::vector<std::unique_ptr<CudaLane>> lanes)
    : options_(options),
      name_(absl::StrCat("cuda:", options.index)),
      slabs_(std::make_unique<SlabPool>(std::move(region), kSmallestSlabOfDevice)),
      lanes_(std::move(lanes)),
      watcher_([this] { Watch(); }) {}

CudaDevice::~CudaDevice() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  watcher_.join();
  if (lost_.load()) {
    // Freeing memory and destroying streams wait for the kernels on them, for ever if one hangs. The process is about
    // to end, which is the only thing that frees a GPU then.
    static_cast<void>(slabs_.release());
    for (std::unique_ptr<CudaLane>& lane : lanes_) {
      static_cast<void>(lane.release());
    }
    return;
  }
  static_cast<void>(cudaSetDevice(options_.index));
}

bool CudaDevice::Run(Batch& batch) {
  if (lost_.load(std::memory_order_acquire)) {
    batch.status = lost_status_;
    return true;
  }
  // Launches come from whatever thread received a request, so the current device is anybody's.
  const cudaError_t error = cudaSetDevice(options_.index);
  if (error != cudaSuccess) {
    batch.status = Describe({error, "cudaSetDevice"});
    Lose(batch.status);
    return true;
  }
  Announce();  // before the launch: while this thread makes it, the other one wakes up
  CudaLane& lane = *lanes_[static_cast<std::size_t>(batch.lane())];
  const bool waitable = lane.Start(batch, InPlace(batch), clock_.Now(), std::max(options_.hang_after, kShortestHang));
  if (!waitable || IsSticky(lane.failure().error)) {
    Lose(Describe(lane.failure()));
  }
  lane.in_flight.store(true, std::memory_order_release);
  return false;
}

bool CudaDevice::InPlace(const Batch& batch) const {
  const std::size_t moved = batch.input_bytes() + (batch.slab().bytes() - batch.copy_out_begin());
  return options_.path.InPlace(batch.work_bytes(), static_cast<std::int64_t>(moved));
}

/// Sequentially consistent on both sides: either this thread sees the other one asleep, or that one sees the count.
void CudaDevice::Announce() {
  announced_.fetch_add(1);
  if (asleep_.load()) {
    { const std::lock_guard<std::mutex> lock(mutex_); }  // it has begun to wait, and will hear this
    wake_.notify_one();
  }
}

/// The watcher: asks the events of all lanes in turn, since batches end in any order. Sleeps when nothing is in flight.
void CudaDevice::Watch() {
  NameThisThread(absl::StrCat("kw-cuda-", options_.index));
  static_cast<void>(prctl(PR_SET_TIMERSLACK, kTimerSlack, 0, 0, 0));
  if (const cudaError_t error = cudaSetDevice(options_.index); error != cudaSuccess) {
    Lose(Describe({error, "cudaSetDevice"}));
  }
  std::uint64_t finished = 0;
  std::uint64_t seen = 0;
  Nanos quiet_since = clock_.Now();
  while (true) {
    const std::uint64_t announced = announced_.load();
    const std::uint64_t ended = FinishLanes();
    finished += ended;
    if (ended > 0 || announced != seen) {
      seen = announced;
      quiet_since = clock_.Now();
    } else if (clock_.Now() - quiet_since < options_.path.spin) {
      std::this_thread::yield();
    } else if (!Sleep(seen, finished == seen)) {
      return;
    }
  }
}

std::uint64_t CudaDevice::FinishLanes() {
  std::uint64_t ended = 0;
  for (const std::unique_ptr<CudaLane>& lane : lanes_) {
    if (lane->in_flight.load(std::memory_order_acquire) && IsOver(*lane)) {
      Finish(*lane);
      ++ended;
    }
  }
  return ended;
}

/// Also true when nobody will ever know: the device is lost.
bool CudaDevice::IsOver(CudaLane& lane) {
  if (lost_.load(std::memory_order_acquire)) {
    return true;
  }
  const cudaError_t error = lane.Query();
  if (error == cudaSuccess) {
    return true;
  }
  if (error != cudaErrorNotReady) {
    // Work that had been accepted failed while it ran. Whatever the code: its memory is in no state that is known.
    Lose(Describe({error, "cudaEventQuery"}));
    return true;
  }
  if (!Hangs(lane)) {
    return false;
  }
  const Batch& batch = lane.batch();
  Lose(absl::UnavailableError(absl::StrCat(name_, ": a batch of '", batch.op().spec.name,
                                           "' hangs: ", batch.request_count(), " requests, ", batch.rows(),
                                           " rows; expected its end within ", lane.time_limit() / 1'000'000, " ms")),
       /*hung=*/true);
  return true;
}

/// Not while another lane has a batch that may take long and is within its time: that may be all there is to it.
bool CudaDevice::Hangs(const CudaLane& lane) const {
  const Nanos now = clock_.Now();
  return now >= lane.give_up_at() && std::none_of(lanes_.begin(), lanes_.end(), [&](const auto& other) {
           return other.get() != &lane && other->in_flight.load(std::memory_order_acquire) && other->may_take_long() &&
                  now < other->give_up_at();
         });
}

void CudaDevice::Finish(CudaLane& lane) {
  Batch& batch = lane.batch();
  if (lane.may_take_long()) {
    const Nanos now = clock_.Now();
    for (const std::unique_ptr<CudaLane>& other : lanes_) {
      if (other.get() != &lane && other->in_flight.load(std::memory_order_acquire)) {
        other->WaitedSince(lane.started_at(), now);
      }
    }
  }
  if (lost_.load(std::memory_order_acquire)) {
    batch.status = lost_status_;
  } else {
    if (lane.failure().error == cudaSuccess) {
      lane.ReadTimes();
    }
    batch.status = Describe(lane.failure());
  }
  // Before the callback, which may launch the next batch on this lane.
  lane.in_flight.store(false, std::memory_order_relaxed);
  finished_(batch);
}

/// Until a launch is announced; if something is in flight, only for a pause. False: the device is going and is idle.
bool CudaDevice::Sleep(std::uint64_t seen, bool idle) {
  std::unique_lock<std::mutex> lock(mutex_);
  asleep_.store(true);
  const auto changed = [&] { return announced_.load() != seen || (stopping_ && idle); };
  if (idle) {
    wake_.wait(lock, changed);
  } else {
    wake_.wait_for(lock, std::chrono::nanoseconds(options_.path.pause), changed);
  }
  asleep_.store(false);
  return !(stopping_ && idle && announced_.load() == seen);
}

/// OK when nothing failed. The caller's request was right and computing it again does no harm, hence UNAVAILABLE.
absl::Status CudaDevice::Describe(const CudaFailure& failure) const {
  const absl::Status status = CudaStatus(failure.error, failure.call);
  return status.ok() ? status : absl::UnavailableError(absl::StrCat(name_, ": ", status.message()));
}

void CudaDevice::Lose(const absl::Status& status, bool hung) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lost_.load()) {
      return;
    }
    lost_status_ = status;
    lost_.store(true);
  }
  if (options_.on_fatal) {
    options_.on_fatal(status, hung);
  }
}

}  // namespace

void LoadKernelsAtStart() { static_cast<void>(setenv("CUDA_MODULE_LOADING", "EAGER", /*replace=*/0)); }

absl::StatusOr<std::vector<DeviceInfo>> ListCudaDevices() {
  std::string why_none;
  const int count = UsableDeviceCount(&why_none);
  if (count == 0) {
    return absl::FailedPreconditionError(absl::StrCat("expected a usable GPU, got none: ", why_none));
  }
  std::vector<DeviceInfo> gpus;
  for (int i = 0; i < count; ++i) {
    KERNELWIRE_ASSIGN_OR_RETURN(DeviceInfo gpu, DescribeDevice(i));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const CudaDeviceOptions& options) {
  KERNELWIRE_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> gpus, ListCudaDevices());
  if (options.index < 0 || options.index >= static_cast<int>(gpus.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("device: expected a GPU from 0 to ", gpus.size() - 1, ", got ", options.index));
  }
  if (options.lanes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("lanes: expected 1 or more, got ", options.lanes));
  }
  KERNELWIRE_ASSIGN_OR_RETURN(std::unique_ptr<StagingRegion> region,
                              MakePinnedRegion(options.index, options.staging_bytes));
  std::vector<std::unique_ptr<CudaLane>> lanes;
  for (int i = 0; i < options.lanes; ++i) {
    KERNELWIRE_ASSIGN_OR_RETURN(std::unique_ptr<CudaLane> lane, CudaLane::Create());
    lanes.push_back(std::move(lane));
  }
  return std::make_unique<CudaDevice>(options, std::move(region), std::move(lanes));
}

}  // namespace kernelwire
