#include "server/device_setup.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/core/status_macros.h"
#include "server/exec/cuda_device.h"
#include "server/exec/device_list.h"
#include "server/exec/host_device.h"

namespace kernelwire {
namespace {

absl::StatusOr<DeviceSetup> SetUpHost(const Options& options, std::string why) {
  HostDeviceOptions host;
  host.lanes = options.lanes;
  host.staging_bytes = options.staging_bytes;
  host.inline_bytes = options.host_inline_bytes;
  DeviceSetup setup;
  setup.devices.push_back(MakeHostDevice(host));
  if (setup.devices.back() == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("--staging_bytes: the system has no ", options.staging_bytes, " bytes of memory"));
  }
  setup.why = std::move(why);
  return setup;
}

absl::StatusOr<DeviceSetup> SetUpGpus(const Options& options, const std::vector<DeviceInfo>& present,
                                      const DeviceLossListener& on_fatal) {
  DeviceSetup setup;
  KERNELWIRE_ASSIGN_OR_RETURN(setup.gpus, CheckDevices(absl::StrJoin(options.gpus, ","), present));
  for (const DeviceInfo& gpu : setup.gpus) {
    CudaDeviceOptions cuda;
    cuda.index = gpu.index;
    cuda.lanes = options.lanes > 0 ? options.lanes : cuda.lanes;
    cuda.staging_bytes = options.staging_bytes;
    cuda.on_fatal = on_fatal;
    KERNELWIRE_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, MakeCudaDevice(cuda));
    setup.devices.push_back(std::move(device));
  }
  const auto describe = [](std::string* out, const DeviceInfo& gpu) {
    absl::StrAppend(out, gpu.index, " (", gpu.name, ", compute capability ", gpu.major, ".", gpu.minor, ")");
  };
  setup.why = absl::StrCat("--device=", NameOf(options.device), " found GPU ",
                           absl::StrJoin(setup.gpus, " and GPU ", describe), "; ", CudaDataPath().ToString());
  return setup;
}

}  // namespace

absl::StatusOr<DeviceSetup> SetUpDevices(const Options& options, const DeviceLossListener& on_fatal) {
  if (options.device == DeviceChoice::kHost) {
    return SetUpHost(options, "--device=host");
  }
  const absl::StatusOr<std::vector<DeviceInfo>> present = ListCudaDevices();
  if (present.ok()) {
    return SetUpGpus(options, *present, on_fatal);
  }
  if (options.device == DeviceChoice::kAuto && options.gpus.empty()) {
    return SetUpHost(options, absl::StrCat("--device=auto: ", present.status().message()));
  }
  const char* flag = options.device == DeviceChoice::kCuda ? "--device=cuda" : "--devices";
  return absl::Status(present.status().code(),
                      absl::StrCat(flag, ": ", present.status().message(), "; --device=host serves without a GPU"));
}

}  // namespace kernelwire
