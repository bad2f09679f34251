// Tunings of rows of large tensors, for tests of what they follow from.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNINGS_TEST_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNINGS_TEST_H_

#include <cstdint>

#include "kernels/primitives/row_access.h"
#include "kernels/primitives/row_tuning.h"

namespace kernelwire::testing {

/// Of rows of `width` elements in a tensor of `mib` MiB, where there are clusters, and memory that is fast or not.
inline RowTuning Tune(RowWork work, std::int64_t width, int element_bytes, std::int64_t mib, bool fast = true,
                      RowAccess access = RowAccess::kOdd) {
  const std::int64_t row_bytes = width * element_bytes;
  const std::int64_t rows = ((mib << 20) + row_bytes - 1) / row_bytes;
  return TuneRows(work, row_bytes, rows, element_bytes, access, {true, 227 << 10, fast});
}

/// Of rows of `row_kib` KiB in whole vectors, one after another.
inline RowTuning TuneVectors(RowWork work, std::int64_t row_kib, int element_bytes, std::int64_t mib, bool fast = true,
                             RowAccess access = RowAccess::kDense) {
  return Tune(work, (row_kib << 10) / element_bytes, element_bytes, mib, fast, access);
}

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_TUNINGS_TEST_H_
