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

/// Index of the segment that row `row` belongs to: the last one with first_row <= row, so that segments without rows
/// are passed over. It is looked for at `guess` first, then by binary search. Requires: 0 <= row < total rows,
/// count >= 1, 0 <= guess < count.
KERNELWIRE_HOST_DEVICE inline int FindSegment(const Segment* segments, int count, std::int64_t row, int guess) {
  const bool begins = segments[guess].first_row <= row;
  const bool goes_on = guess + 1 == count || segments[guess + 1].first_row > row;
  if (begins && goes_on) {
    return guess;
  }
  int low = begins ? guess : 0;
  int high = begins ? count : guess;  // the answer lies in [low, high)
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

/// The same without an idea where that is.
inline int FindSegment(const Segment* segments, int count, std::int64_t row) {
  return FindSegment(segments, count, row, count / 2);
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
