// What the plan of softmax settles, and its host and CUDA paths read. Light: device code includes it.
#ifndef KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_H_
#define KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_H_

#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernelwire {

/// How the two statistics of a row, its maximum and its sum of exponentials, are found. The bounds on the result are
/// the same for all; a row that stays on chip (in registers, in the first-level cache) is read from memory once anyway.
enum class SoftmaxAlgorithm : std::int32_t {
  kAuto = 0,    // whichever of the two suits device and width
  kSafe = 1,    // the maximum first, then the sum: each a pass over the row
  kOnline = 2,  // both in one pass; the sum is rescaled whenever the maximum grows
};

/// Equal for all requests of a launch.
///
/// A launch's unit of work (Segment::rows) is a piece of width * inner elements, contiguous in x and in y: the axis and
/// everything behind it. It holds `inner` rows, interleaved: row j's elements are j, j + inner, j + 2 inner, ... So a
/// softmax over the last axis has inner = 1, no axis needs a transposed copy, and a request can be cut between pieces.
/// From one piece to the next it is extents[kRowStrideX] and extents[kRowStrideY] elements (row_parameter.h); more than
/// a piece only where inner is 1. log_softmax has the same parameters.
struct SoftmaxParams {
  DataType x_type = DataType::kInvalid;
  DataType y_type = DataType::kInvalid;
  SoftmaxAlgorithm algorithm = SoftmaxAlgorithm::kAuto;
  std::int64_t width = 0;  // elements of a row
  std::int64_t inner = 0;  // rows of a piece
};

/// Interleaved rows that the host does at a time.
inline constexpr std::int64_t kInterleavedRowsOfATile = 128;

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SOFTMAX_SOFTMAX_H_
