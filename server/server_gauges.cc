#include "server/server_gauges.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/build_info.h"

namespace kernelwire {
namespace {

void AddBuild(Metrics* metrics) {
  const BuildInfo build = ThisBuild();
  metrics->AddGauge("build_info", "Constant 1; the labels say what the server was built from.",
                    {{"version", build.version}, {"cuda", build.cuda}, {"compiler", build.compiler}},
                    [] { return 1.0; });
}

void AddDevice(const GaugeSources& sources, std::size_t index, Metrics* metrics) {
  Device* device = (*sources.devices)[index].get();
  const Scheduler* scheduler = sources.scheduler;
  const Metrics::Labels labels = {{"device", device->name()}};
  const auto per_device = [scheduler, index](auto member) {
    return [scheduler, index, member] { return static_cast<double>(scheduler->Snapshot().devices[index].*member); };
  };
  metrics->AddGauge("device_up", "1 while the device computes, 0 once it is lost.", labels,
                    [scheduler, index] { return scheduler->Snapshot().devices[index].lost ? 0.0 : 1.0; });
  metrics->AddGauge("lanes", "Batches that the device can have at work at a time.", labels,
                    per_device(&SchedulerSnapshot::PerDevice::lanes));
  metrics->AddGauge("lanes_busy", "Batches at work.", labels, per_device(&SchedulerSnapshot::PerDevice::lanes_busy));
  metrics->AddGauge("queue_requests", "Requests admitted that wait for staging memory.", labels,
                    per_device(&SchedulerSnapshot::PerDevice::waiting_requests));
  metrics->AddGauge("queue_batches", "Batches that wait for a lane, for company or for the bytes of a request.", labels,
                    per_device(&SchedulerSnapshot::PerDevice::pending_batches));
  metrics->AddGauge("staging_capacity_bytes", "Staging memory of the device.", labels,
                    [device] { return static_cast<double>(device->slabs().total_bytes()); });
  metrics->AddGauge("staging_used_bytes", "Staging memory in slabs of batches and unread replies.", labels,
                    [device] { return static_cast<double>(device->slabs().used_bytes()); });
  if (index < sources.gpus->size()) {
    const DeviceInfo& gpu = (*sources.gpus)[index];
    metrics->AddGauge("device_info", "Constant 1; the labels name the GPU as other exporters do.",
                      {{"device", device->name()},
                       {"name", gpu.name},
                       {"uuid", gpu.uuid},
                       {"pci", gpu.pci},
                       {"compute_capability", absl::StrCat(gpu.major, ".", gpu.minor)}},
                      [] { return 1.0; });
  }
}

void AddBudgets(const GaugeSources& sources, Metrics* metrics) {
  const Scheduler* scheduler = sources.scheduler;
  const SchedulerOptions& limits = sources.options->scheduler;
  metrics->AddGauge("outstanding_bytes", "Inputs and results of requests admitted and not yet answered.", {},
                    [scheduler] { return static_cast<double>(scheduler->Snapshot().outstanding_bytes); });
  metrics->AddGauge("outstanding_bytes_limit", "The budget of kernelwire_outstanding_bytes.", {},
                    [limit = static_cast<double>(limits.max_outstanding_bytes)] { return limit; });
  metrics->AddGauge("outstanding_requests", "Requests admitted and not yet answered.", {},
                    [scheduler] { return static_cast<double>(scheduler->Snapshot().outstanding_requests); });
  metrics->AddGauge("outstanding_requests_limit", "The budget of kernelwire_outstanding_requests.", {},
                    [limit = static_cast<double>(limits.max_outstanding_requests)] { return limit; });
}

}  // namespace

void AddServerGauges(const GaugeSources& sources, Metrics* metrics) {
  AddBuild(metrics);
  for (std::size_t i = 0; i < sources.devices->size(); ++i) {
    AddDevice(sources, i, metrics);
  }
  AddBudgets(sources, metrics);
  metrics->AddGauge("calls", "Calls alive.", {},
                    [rpc = sources.rpc] { return static_cast<double>(rpc->live_calls()); });
  metrics->AddGauge("calls_limit", "Most calls alive at a time.", {},
                    [limit = static_cast<double>(sources.options->rpc.max_calls)] { return limit; });
  metrics->AddGauge("ready", "1 while health is SERVING.", {},
                    [health = sources.health] { return health->ready() ? 1.0 : 0.0; });
}

}  // namespace kernelwire
