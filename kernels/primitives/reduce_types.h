// What goes in and comes out of a reduction: the types it takes, accumulates in and gives, as the operator's kind and
// the type of x settle them, and the attributes that say otherwise. Host code only.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TYPES_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TYPES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/core/attributes.h"
#include "kernels/core/dtype.h"
#include "kernels/core/spec.h"

namespace kernelwire {

/// What a reduction computes, as far as its types and errors follow from it.
enum class ReduceKind : std::uint8_t {
  kSum,      // of elements or of products: integers stay integers, and may not fit
  kProduct,  // the same
  kMean,     // a sum and a division: real, whatever the elements; sums of integers are exact whatever is named
  kReal,     // real, whatever the elements, and computed so: logsumexp, l2_norm
  kSelect,   // one of the elements: max, min
  kIndex,    // the place of one of the elements: argmax, argmin
};

inline constexpr DataTypeSet kReducibleTypes{DataType::kFp16,    DataType::kBf16,   DataType::kFp32,  DataType::kFp64,
                                             DataType::kInt8,    DataType::kUint8,  DataType::kInt32, DataType::kInt64,
                                             DataType::kFp8E4m3, DataType::kFp8E5m2};

/// Fills inputs, outputs and attributes of a reduction of one input `x` over `axes`.
void DescribeReduction(ReduceKind kind, OperatorSpec* spec);

/// The attributes `accumulator` and `output_type`, with the names that some input of the kind allows.
AttributeSpec AccumulatorAttribute(ReduceKind kind);
AttributeSpec OutputTypeAttribute(ReduceKind kind);

struct ReduceTypes {
  DataType accumulator = DataType::kInvalid;
  DataType output = DataType::kInvalid;
};

/// The types of a request with an input of type `x`. Errors: INVALID_ARGUMENT for those that do not go together.
absl::StatusOr<ReduceTypes> ReadReduceTypes(ReduceKind kind, DataType x, const Attributes& attributes);

/// Whether some elements of type `x` have a result that leaves its accumulator or its type. `width` elements make one
/// result; those of `inputs` tensors are multiplied with each other first.
bool MayNotFit(ReduceKind kind, DataType x, const ReduceTypes& types, std::int64_t width, int inputs);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_REDUCE_TYPES_H_
