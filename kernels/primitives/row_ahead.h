// How far ahead blocks that hold rows ask the second-level cache for others' (fetch_ahead.cuh). Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_AHEAD_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_AHEAD_H_

#include <cstdint>

#include "kernels/primitives/row_tuning.h"

namespace kernelwire {

/// RowTuning::rows_ahead of `rows` rows that are held as `tuning` says. `plain`: they are whole vectors, and begin on
/// such. How far was chosen from scans of 0.5 to 10 MiB in tensors of 8 MiB to 1 GiB on an H100, and on an H200
/// (`fast_memory`: RowDevice) for FP32 rows of large ones (tests/bench/kernels).
int RowsAhead(RowWork work, std::int64_t row_bytes, std::int64_t rows, int element_bytes, bool plain, bool fast_memory,
              const RowTuning& tuning);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_AHEAD_H_
