// A GPU as a device: lanes are streams, staging is pinned memory with a counterpart on the GPU.
//
// The header can be included in every build; in one without CUDA its functions say so.
#ifndef KERNELWIRE_SERVER_EXEC_CUDA_DEVICE_H_
#define KERNELWIRE_SERVER_EXEC_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/device_info.h"
#include "server/batch/clock.h"
#include "server/batch/device.h"

namespace kernelwire {

/// How bytes get to the kernel and how their end is noticed. Printable values, measured rather than believed.
struct CudaDataPath {
  /// Batches that touch up to this many bytes, each about once, are computed in place: the kernel reads and writes the
  /// pinned memory over the bus. On an H200 a round trip took 12 us so and 16 us by copying in, computing and copying
  /// out, and in place stayed ahead up to 4 MiB. The limit is lower because a kernel that waits for the bus holds
  /// multiprocessors that other lanes could use, which a copy engine does not.
  std::int64_t in_place_bytes = std::int64_t{1} << 20;
  /// The same for batches that touch their bytes several times (NMS): every touch goes over the bus again, at about 1
  /// us if nothing hides it. So only where everything is a handful of accesses.
  std::int64_t in_place_reread_bytes = 4096;
  /// The thread that waits for events asks again and again for this long after the last launch or end, since waiting on
  /// a blocking event took 15 us longer. It costs up to one core for each GPU under load; an idle server's sleeps.
  Nanos spin = 200'000;
  /// While batches run for longer than that, it asks after pauses of this length: little beside what they take.
  Nanos pause = 20'000;

  bool InPlace(std::int64_t work_bytes, std::int64_t moved_bytes) const {
    return work_bytes <= (work_bytes <= moved_bytes ? in_place_bytes : in_place_reread_bytes);
  }
  /// One line, for the log at start.
  std::string ToString() const {
    return "in_place_bytes=" + std::to_string(in_place_bytes) +
           " in_place_reread_bytes=" + std::to_string(in_place_reread_bytes) + " spin_ns=" + std::to_string(spin) +
           " pause_ns=" + std::to_string(pause);
  }
};

struct CudaDeviceOptions {
  int index = 0;  // CUDA's number
  int lanes = 4;  // batches at a time; four overlap copies both ways with kernels (H200: 40 of 55 GB/s at 1 MiB)
  std::size_t staging_bytes = std::size_t{256} << 20;  // pinned, and as much again on the GPU
  /// A batch that runs longer than this, or 1 s if that is more, and than its operator may need at worst
  /// (Operator::most_work_bytes), counts as hung: kernels cannot be called back. While another batch may need long, its
  /// time does not count.
  Nanos hang_after = 10'000'000'000;
  CudaDataPath path;
  /// Called once, from any thread, when nothing can be computed here any more: a sticky error, after which every CUDA
  /// call of the process fails, or a hang (`hung`). It must not wait for the device and not destroy it. From then on
  /// batches end with `status` (UNAVAILABLE). The process should say so and end without running destructors of CUDA
  /// objects.
  std::function<void(const absl::Status& status, bool hung)> on_fatal;
};

/// Has all kernels loaded when the process first uses a GPU, unless its environment says otherwise
/// (CUDA_MODULE_LOADING). Else the driver loads each when it is first launched, and has that launch, on whatever lane,
/// wait for all kernels that run: 7.7 s behind a soft-NMS of 131 072 boxes. Costs 0.1 s at start, 0.2 GB of the GPU's
/// memory and 0.6 GB of the host's (H200). To be called before other threads run and before anything else of CUDA.
void LoadKernelsAtStart();

/// The GPUs that this process can use; never empty.
/// Errors: FAILED_PRECONDITION with the reason (no GPU, no driver, a build without CUDA).
absl::StatusOr<std::vector<DeviceInfo>> ListCudaDevices();

/// A device called "cuda:<index>". All its memory, streams and events are taken here, nothing later. Its destructor
/// waits for batches in flight, up to their time limit; after on_fatal it abandons what CUDA holds rather than wait for
/// it. Errors: FAILED_PRECONDITION as above, INVALID_ARGUMENT (index, lanes), RESOURCE_EXHAUSTED (staging; names the
/// flag), UNAVAILABLE and INTERNAL (CUDA's).
absl::StatusOr<std::unique_ptr<Device>> MakeCudaDevice(const CudaDeviceOptions& options);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_CUDA_DEVICE_H_
