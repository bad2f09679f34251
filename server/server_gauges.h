// What a scrape reads off the parts at work: gauges of devices, queues, budgets and calls.
#ifndef KERNELWIRE_SERVER_SERVER_GAUGES_H_
#define KERNELWIRE_SERVER_SERVER_GAUGES_H_

#include <memory>
#include <vector>

#include "kernels/device/device_info.h"
#include "server/batch/device.h"
#include "server/batch/scheduler.h"
#include "server/observe/metrics.h"
#include "server/options.h"
#include "server/rpc/health.h"
#include "server/rpc/rpc_server.h"

namespace kernelwire {

/// Everything is read at each scrape, so all of it outlives the last one.
struct GaugeSources {
  const Options* options = nullptr;
  const std::vector<std::unique_ptr<Device>>* devices = nullptr;
  const std::vector<DeviceInfo>* gpus = nullptr;  // one for each device, or empty
  const Scheduler* scheduler = nullptr;
  const RpcServer* rpc = nullptr;
  const HealthState* health = nullptr;
};

void AddServerGauges(const GaugeSources& sources, Metrics* metrics);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_SERVER_GAUGES_H_
