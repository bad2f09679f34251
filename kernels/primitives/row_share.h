// How blocks share a row that is no whole number of vectors, in words: what follows from its length, and where they
// have it. Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHARE_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHARE_H_

#include <cstdint>

#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// A row that is longer than lanes hold, in words: by a block, or by blocks that have equal shares of it; what follows
/// from its length alone. Clusters of other numbers than powers of two leave multiprocessors without one; shares are
/// short enough for several blocks to work side by side, of which some read while others write. layer_norm does so much
/// with a row that blocks which share it are slower somewhat longer. Whether registers have it or shared memory may
/// follow from the number of rows and the device too.
RowTuning HoldInWords(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes,
                      const RowDevice& device);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHARE_H_
