// One launch of an operator over a batch. Light on purpose: this is what CUDA sources include.
#ifndef KERNELWIRE_KERNELS_CORE_LAUNCH_H_
#define KERNELWIRE_KERNELS_CORE_LAUNCH_H_

#include <cstdint>

#include "kernels/core/plan.h"
#include "kernels/core/segment.h"

struct CUstream_st;  // cudaStream_t is a pointer to it; named here so that no CUDA header leaks upward

namespace kernelwire {

/// Counters of Launch::tickets. A long row that several blocks share takes one, and a launch has no more such rows at a
/// time; blocks that are handed rows take three. What follows them: kLaunchArrivals.
inline constexpr int kLaunchTickets = 1024;

/// One launch over the segments of a batch. All plans have equal keys, so `plan` (any of them) holds the parameters.
/// `device_segments` is where a kernel reads the table; on the host it equals `segments`.
struct Launch {
  const Plan* plan = nullptr;
  const Segment* segments = nullptr;
  const Segment* device_segments = nullptr;
  int segment_count = 0;
  std::int64_t total_rows = 0;  // sum of Segment::rows; may be 0

  /// Device memory, kLaunchWords (launch_arrivals.h) aligned to 16 bytes; null on the host. Blocks that share a row
  /// count themselves here, others their rows, and those that share a result leave what they have. All zero before
  /// the first launch; every launch leaves them all zero. Launches that may run at the same time must not have the
  /// same ones: a stream has its own.
  std::uint32_t* tickets = nullptr;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_LAUNCH_H_
