#include "server/exec/host_device.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "server/batch/clock.h"
#include "server/exec/worker_pool.h"

namespace kernelwire {
namespace {

class HostDevice final : public Device {
 public:
  HostDevice(std::unique_ptr<StagingRegion> region, int lanes, std::int64_t inline_bytes)
      : slabs_(std::move(region), kSmallestSlabOfDevice), inline_bytes_(inline_bytes), workers_(lanes, "kw-host") {}

  const std::string& name() const override { return name_; }
  int lane_count() const override { return workers_.thread_count(); }
  SlabPool& slabs() override { return slabs_; }
  void SetFinishedCallback(std::function<void(Batch&)> callback) override { finished_ = std::move(callback); }

  bool Run(Batch& batch) override {
    if (batch.work_bytes() <= inline_bytes_) {
      InlineExecutor this_thread;
      Compute(batch, this_thread);
      return true;
    }
    workers_.Post([this, &batch] {
      Compute(batch, workers_);
      finished_(batch);
    });
    return false;
  }

 private:
  void Compute(Batch& batch, ParallelExecutor& threads) const {
    std::byte* const base = batch.slab().host();
    const Launch& launch = batch.BuildLaunch({base, base, base, base});
    const Nanos begin = clock_.Now();
    batch.status = batch.op().run_host(launch, threads);
    batch.kernel = clock_.Now() - begin;
  }

  const std::string name_ = "host";
  const SteadyClock clock_;
  SlabPool slabs_;
  const std::int64_t inline_bytes_;
  std::function<void(Batch&)> finished_;
  WorkerPool workers_;  // last: its threads end before what they use
};

}  // namespace

std::unique_ptr<Device> MakeHostDevice(const HostDeviceOptions& options) {
  std::unique_ptr<StagingRegion> region = MakeHostRegion(options.staging_bytes);
  if (region == nullptr) {
    return nullptr;
  }
  const int hardware = static_cast<int>(std::thread::hardware_concurrency());
  const int lanes = options.lanes > 0 ? options.lanes : std::max(hardware, 2);
  return std::make_unique<HostDevice>(std::move(region), lanes, options.inline_bytes);
}

}  // namespace kernelwire
