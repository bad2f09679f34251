// Which devices a server computes on, and why.
#ifndef KERNELWIRE_SERVER_DEVICE_SETUP_H_
#define KERNELWIRE_SERVER_DEVICE_SETUP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/device_info.h"
#include "server/batch/device.h"
#include "server/options.h"

namespace kernelwire {

struct DeviceSetup {
  std::vector<std::unique_ptr<Device>> devices;  // never empty
  std::vector<DeviceInfo> gpus;                  // one for each device; empty on the host
  std::string why;                               // one sentence for the log
};

/// CudaDeviceOptions::on_fatal, of every GPU.
using DeviceLossListener = std::function<void(const absl::Status& status, bool hung)>;

/// Makes what --device and --devices ask for, with all memory that the devices will ever have.
/// Errors: FAILED_PRECONDITION that says why there is no usable GPU where one is asked for; those of CheckDevices and
/// MakeCudaDevice; RESOURCE_EXHAUSTED when the host has no --staging_bytes.
absl::StatusOr<DeviceSetup> SetUpDevices(const Options& options, const DeviceLossListener& on_fatal);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_DEVICE_SETUP_H_
