// One request's part of a launch. Plain data: the same table is read by host code and, through a copy, by kernels.
#ifndef KERNELWIRE_KERNELS_CORE_SEGMENT_H_
#define KERNELWIRE_KERNELS_CORE_SEGMENT_H_

#include <cstdint>

namespace kernelwire {

inline constexpr int kMaxInputs = 6;
inline constexpr int kMaxOutputs = 6;
inline constexpr int kMaxExtents = 6;

/// A launch runs over a table of these, one a live request, in the order of joining. Pointers are valid where the
/// work runs (host or device), aligned to 256 bytes, null for tensors that the request does not have.
struct Segment {
  const void* inputs[kMaxInputs];
  void* outputs[kMaxOutputs];
  void* workspace;                    // Plan::workspace_bytes of scratch, uninitialised
  std::int64_t rows;                  // independent pieces of work of this request (rows, images)
  std::int64_t first_row;             // sum of `rows` of all segments before this one
  std::int64_t extents[kMaxExtents];  // the operator's own numbers of this request (what may differ inside a batch)
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_SEGMENT_H_
