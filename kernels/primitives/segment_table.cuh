// The table of a launch's requests as kernels take it: by value for a launch of one request, which saves a read of
// device memory before the first load of the row, and by pointer for more.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_SEGMENT_TABLE_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_SEGMENT_TABLE_CUH_

#include <algorithm>
#include <cstdint>

#include "kernels/core/launch.h"
#include "kernels/core/segment.h"
#include "kernels/primitives/segment_lookup.h"

namespace kernelwire {

/// Part of a kernel's argument, which must be declared `const __grid_constant__`: then `only` is read where the
/// argument lies, and is not copied to each thread.
struct SegmentTable {
  Segment only;         // the segment, when count == 1
  const Segment* many;  // in device memory, when count > 1
  int count;
  float segments_of_row;  // count over the launch's rows: requests that wait together are often of one size

  /// pick(segment) for the segment that row `row` of the launch belongs to. `pick` returns by value what it needs of
  /// it, so that a single segment is read from the constant bank and no address of it is ever taken. Requires: 0 <= row
  /// < total rows.
  template <typename Pick>
  __device__ __forceinline__ auto PickOf(std::int64_t row, const Pick& pick) const {
    return count == 1 ? pick(only) : pick(many[FindSegment(many, count, row, GuessOf(row))]);
  }

 private:
  __device__ __forceinline__ int GuessOf(std::int64_t row) const {
    return min(count - 1, static_cast<int>(static_cast<float>(row) * segments_of_row));
  }
};

inline SegmentTable TableOf(const Launch& launch) {
  SegmentTable table{};
  table.count = launch.segment_count;
  table.many = launch.device_segments;
  table.segments_of_row =
      static_cast<float>(launch.segment_count) / static_cast<float>(std::max<std::int64_t>(1, launch.total_rows));
  if (launch.segment_count > 0) {
    table.only = launch.segments[0];
  }
  return table;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_SEGMENT_TABLE_CUH_
