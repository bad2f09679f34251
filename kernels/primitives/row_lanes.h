// How lanes of a warp share a row that is no longer than they hold, and how many such rows they have after one another.
// Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_LANES_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_LANES_H_

#include <cstdint>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// For TuneRows, which adds what rows are asked for ahead. `fast_memory`: see RowDevice. Requires: lanes hold such a
/// row in words, or it is at most a stretch.
RowTuning ShareAmongLanes(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, RowAccess access,
                          bool fast_memory, bool in_words);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_LANES_H_
