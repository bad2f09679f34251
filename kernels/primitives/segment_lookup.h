// From a row's number in the launch to the request it belongs to. For host code and for device code.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_SEGMENT_LOOKUP_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_SEGMENT_LOOKUP_H_

#include <cstdint>

#include "kernels/core/segment.h"

#ifdef __CUDACC__
#define KERNELWIRE_HOST_DEVICE __host__ __device__
#else
#define KERNELWIRE_HOST_DEVICE
#endif

namespace kernelwire {

/// Index of the segment that row `row` belongs to: the last one with first_row <= row, by binary search, so that
/// segments without rows are passed over. Requires: 0 <= row < total rows, count >= 1.
KERNELWIRE_HOST_DEVICE inline int FindSegment(const Segment* segments, int count, std::int64_t row) {
  int low = 0;
  int high = count;  // the answer lies in [low, high)
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (segments[middle].first_row <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Calls body(segment, first, last) for each run of rows of one segment within the launch's rows [begin, end);
/// `first` and `last` count from the segment's own first row.
template <typename Body>
void ForEachSegmentRange(const Segment* segments, int count, std::int64_t begin, std::int64_t end, const Body& body) {
  if (begin >= end) {
    return;
  }
  for (int i = FindSegment(segments, count, begin); i < count && segments[i].first_row < end; ++i) {
    const Segment& segment = segments[i];
    const std::int64_t first = begin > segment.first_row ? begin - segment.first_row : 0;
    const std::int64_t left = end - segment.first_row;
    const std::int64_t last = left < segment.rows ? left : segment.rows;
    if (first < last) {
      body(segment, first, last);
    }
  }
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_SEGMENT_LOOKUP_H_
