// What operators over rows plan and run alike: the output's type, and how work is shared among threads.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_ROW_OPERATOR_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_OPERATOR_H_

#include <algorithm>
#include <cstdint>

#include "kernels/core/attributes.h"
#include "kernels/core/dtype.h"
#include "kernels/core/operator.h"
#include "kernels/core/plan.h"

namespace kernelwire {

/// The attribute `output_type` of operators with floating-point results.
inline AttributeSpec FloatOutputTypeAttribute() {
  AttributeSpec spec;
  spec.name = "output_type";
  spec.kind = AttributeKind::kTypeName;
  spec.doc = "Type of y; the result is rounded to it once.";
  spec.default_text = "the type of x";
  spec.choices = {"FP16", "BF16", "FP32", "FP64"};
  return spec;
}

/// The type asked for by `output_type`, or `input_type` when it was left out.
inline DataType OutputTypeOf(const Attributes& attributes, DataType input_type) {
  const auto name = attributes.GetString("output_type");
  return name.has_value() ? DataTypeFromName(*name).value_or(input_type) : input_type;
}

/// Results are computed in f64 when x or y is FP64, and in f32 otherwise.
constexpr bool ComputesInF64(DataType x_type, DataType y_type) {
  return x_type == DataType::kFp64 || y_type == DataType::kFp64;
}

/// Calls run.Rows(begin, end) over [0, count), on several threads where that pays: pieces hold at least 32 KiB of work,
/// and less than two pieces stay in the calling thread, which then allocates nothing.
template <typename Run>
void ForEachPieceOfWork(const Run& run, std::int64_t count, std::int64_t bytes_each, ParallelExecutor& threads) {
  constexpr std::int64_t kBytesOfAPiece = std::int64_t{32} * 1024;
  const std::int64_t grain = std::max<std::int64_t>(1, kBytesOfAPiece / std::max<std::int64_t>(1, bytes_each));
  if (count <= grain) {
    run.Rows(0, count);
    return;
  }
  // The closure holds one reference, which std::function keeps without a heap allocation.
  threads.ParallelFor(count, grain, [&run](std::int64_t begin, std::int64_t end) { run.Rows(begin, end); });
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_ROW_OPERATOR_H_
