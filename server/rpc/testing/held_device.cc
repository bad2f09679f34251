#include "server/rpc/testing/held_device.h"

#include <utility>

namespace kernelwire::testing {
namespace {

constexpr std::size_t kSmallestSlab = 4096;

}  // namespace

HeldDevice::HeldDevice(std::size_t staging_bytes, int lanes)
    : lanes_(lanes), slabs_(MakeHostRegion(staging_bytes), kSmallestSlab) {}

bool HeldDevice::Run(Batch& batch) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (held_) {
      kept_.push_back(&batch);
      kept_changed_.notify_all();
      return false;
    }
  }
  Compute(batch);
  return true;
}

void HeldDevice::Hold() {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_ = true;
}

void HeldDevice::Release() {
  std::vector<Batch*> batches;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = false;
    batches.swap(kept_);
  }
  for (Batch* batch : batches) {
    Compute(*batch);
    finished_(*batch);
  }
}

void HeldDevice::AwaitKept(std::size_t batches) {
  std::unique_lock<std::mutex> lock(mutex_);
  kept_changed_.wait(lock, [this, batches] { return kept_.size() >= batches; });
}

void HeldDevice::FailWith(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = status;
}

void HeldDevice::Compute(Batch& batch) {
  std::byte* const base = batch.slab().host();
  const Launch& launch = batch.BuildLaunch({base, base, base, base});
  InlineExecutor this_thread;
  batch.status = batch.op().run_host(launch, this_thread);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_.ok()) {
    batch.status = failure_;
  }
}

}  // namespace kernelwire::testing
