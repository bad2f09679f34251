// Rows of the usual launch (IsUsual in row_access.h): one request, rows one after another, parameters that are rows of
// their type. What the compiler knows of them, threads need not ask.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_USUAL_CUH_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_USUAL_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/primitives/granule.cuh"
#include "kernels/primitives/row_parameter.h"
#include "kernels/primitives/row_vectors.cuh"

namespace kernelwire {

/// Where row `row` of a tensor begins; null where there is no tensor. Rows and widths take 31 bits.
template <typename T>
__device__ __forceinline__ T* UsualRowAt(T* tensor, std::int64_t row, std::int64_t width) {
  const std::int64_t at = std::int64_t{static_cast<unsigned>(row)} * static_cast<unsigned>(width);
  return tensor == nullptr ? tensor : tensor + at;
}

/// The same for reading, of `rows` rows. What lies before a row that does not begin on a granule is other rows. So is
/// what lies behind it, a word's worth at least (row_words.cuh), and a granule's of rows that are read in those, which
/// are no shorter (row_shifted.cuh, row_staged.cuh).
template <typename T>
__device__ __forceinline__ RowSource<T> UsualSourceAt(const void* tensor, std::int64_t row, std::int64_t rows,
                                                      std::int64_t width) {
  __builtin_assume(tensor != nullptr);
  return {UsualRowAt(static_cast<const T*>(tensor), row, width), static_cast<int>(width), true,
          static_cast<unsigned>(row) + 1 < static_cast<unsigned>(rows)};
}

/// What a segment says of a parameter of T, and where it lies.
template <typename T>
inline constexpr std::int64_t kUsualParameter = PackRowParameter({RowParameterKind::kRow, kDataTypeOf<T>});
__device__ __forceinline__ const void* UsualParameterAt(const void* data) {
  __builtin_assume(reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
  return data;
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_USUAL_CUH_
