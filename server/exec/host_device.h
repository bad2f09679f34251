// The host as a device: lanes are worker threads, staging is ordinary memory, nothing is copied.
#ifndef KERNELWIRE_SERVER_EXEC_HOST_DEVICE_H_
#define KERNELWIRE_SERVER_EXEC_HOST_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/batch/device.h"

namespace kernelwire {

struct HostDeviceOptions {
  int lanes = 0;  // batches at a time, and worker threads; 0: one for each hardware thread, at least 2
  std::size_t staging_bytes = std::size_t{256} << 20;
  /// Batches that touch up to this many bytes run in the thread that launches them. Measured on two cores, rms_norm and
  /// softmax in f32: handing a batch to a worker that has to be woken adds 15 to 25 us to a round trip, and this many
  /// bytes take 6 to 22 us. More would gain a little for a single caller, and keep a thread of the wire from its calls.
  /// -1: always hand over.
  std::int64_t inline_bytes = std::int64_t{256} << 10;
};

/// A device called "host". Its destructor runs what it has been given and joins its threads.
/// Null when the system has no `staging_bytes` of memory.
std::unique_ptr<Device> MakeHostDevice(const HostDeviceOptions& options);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_HOST_DEVICE_H_
