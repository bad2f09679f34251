// How blocks share a row that is no whole number of vectors, in words: what follows from its length, and where they
// have it. Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHARE_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHARE_H_

#include <cstdint>

#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// A row that is longer than lanes hold, in words: by a block, or by blocks that have equal shares of it, but for the
/// last; from its length alone. Shares are short enough for several blocks to work side by side, of which some read
/// while others write. layer_norm does so much with a row that blocks which share it are slower somewhat longer.
RowTuning HoldInWords(RowWork work, std::int64_t row_bytes, int element_bytes, bool clusters);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_SHARE_H_
