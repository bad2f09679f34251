#include "kernels/primitives/reduce_types.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"

namespace kernelwire {
namespace {

/// What `output_type` can name.
constexpr DataTypeSet kFloatsAndIntegers{DataType::kFp16, DataType::kBf16,  DataType::kFp32,
                                         DataType::kFp64, DataType::kInt32, DataType::kInt64};

bool IsNarrowFloat(DataType type) { return IsFloat(type) && SizeOf(type) <= 2; }

bool IsFp8(DataType type) { return type == DataType::kFp8E4m3 || type == DataType::kFp8E5m2; }

/// Results that are real numbers whatever the elements.
bool IsReal(ReduceKind kind) { return kind == ReduceKind::kMean || kind == ReduceKind::kReal; }

DataType DefaultAccumulator(ReduceKind kind, DataType x) {
  if (IsFloat(x)) {
    return x == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32;
  }
  if (kind == ReduceKind::kReal) {
    return DataType::kFp64;
  }
  return SizeOf(x) == 1 ? DataType::kInt32 : DataType::kInt64;
}

DataTypeSet AccumulatorsFor(ReduceKind kind, DataType x) {
  if (!IsFloat(x)) {
    return kind == ReduceKind::kReal ? DataTypeSet{DataType::kFp64} : DataTypeSet{DataType::kInt32, DataType::kInt64};
  }
  if (IsNarrowFloat(x)) {
    return DataTypeSet{DataType::kFp16, DataType::kBf16, DataType::kFp32, DataType::kFp64};
  }
  return x == DataType::kFp32 ? DataTypeSet{DataType::kFp32, DataType::kFp64} : DataTypeSet{DataType::kFp64};
}

DataType DefaultOutput(ReduceKind kind, DataType x, DataType accumulator) {
  if (kind == ReduceKind::kIndex) {
    return DataType::kInt64;
  }
  if (IsFloat(x)) {
    return IsFp8(x) ? DataType::kFp32 : x;
  }
  if (IsReal(kind)) {
    return DataType::kFp32;
  }
  return kind == ReduceKind::kSelect ? x : accumulator;
}

DataTypeSet OutputsFor(ReduceKind kind, DataType x) {
  if (kind == ReduceKind::kIndex) {
    return DataTypeSet{DataType::kInt32, DataType::kInt64};
  }
  return IsFloat(x) || IsReal(kind) ? kFloats : kFloatsAndIntegers;
}

/// Reads an attribute that names a type. `allowed` for an input of type `x`; `fallback` when it was left out.
absl::StatusOr<DataType> ReadType(const Attributes& attributes, const char* name, DataTypeSet allowed, DataType x,
                                  DataType fallback) {
  const std::optional<std::string> text = attributes.GetString(name);
  if (!text.has_value()) {
    return fallback;
  }
  const DataType type = DataTypeFromName(*text).value_or(DataType::kInvalid);
  if (!allowed.Contains(type)) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "': expected one of ", allowed.ToString(),
                                                   " for an input of ", NameOf(x), ", got ", *text));
  }
  return type;
}

/// log2 of the largest magnitude of an integer type, rounded up.
double BitsOf(DataType type) { return 8.0 * static_cast<double>(SizeOf(type)) - (type == DataType::kUint8 ? 0 : 1); }

AttributeSpec TypeAttribute(const char* name, const char* doc, const char* default_text,
                            std::vector<std::string> choices) {
  AttributeSpec spec;
  spec.name = name;
  spec.kind = AttributeKind::kTypeName;
  spec.doc = doc;
  spec.default_text = default_text;
  spec.choices = std::move(choices);
  return spec;
}

}  // namespace

absl::StatusOr<ReduceTypes> ReadReduceTypes(ReduceKind kind, DataType x, const Attributes& attributes) {
  ReduceTypes types;
  KERNELWIRE_ASSIGN_OR_RETURN(
      types.accumulator, ReadType(attributes, "accumulator", AccumulatorsFor(kind, x), x, DefaultAccumulator(kind, x)));
  KERNELWIRE_ASSIGN_OR_RETURN(types.output, ReadType(attributes, "output_type", OutputsFor(kind, x), x,
                                                     DefaultOutput(kind, x, types.accumulator)));
  if (IsFloat(x) && types.output == DataType::kFp64 && !attributes.GetString("accumulator").has_value()) {
    types.accumulator = DataType::kFp64;  // who asks for that many bits wants them right
  }
  return types;
}

bool MayNotFit(ReduceKind kind, DataType x, const ReduceTypes& types, std::int64_t width, int inputs) {
  if (kind == ReduceKind::kIndex) {
    return types.output == DataType::kInt32 && width > std::int64_t{1} << 31;
  }
  if (IsFloat(x) || IsReal(kind)) {
    return false;
  }
  double bits = BitsOf(x) * inputs;
  if (kind == ReduceKind::kSum) {
    bits += std::log2(static_cast<double>(std::max<std::int64_t>(width, 1)));
  } else if (kind == ReduceKind::kProduct) {
    bits *= static_cast<double>(std::max<std::int64_t>(width, 1));
  }
  // -2^31 fits where 2^31 does not, so equality may already be too much, but for a sum of nothing but one element.
  const bool accumulates = kind != ReduceKind::kSelect && width * inputs > 1;
  const auto exceeds = [&](DataType type) {
    return !IsFloat(type) && (accumulates ? bits >= BitsOf(type) : bits > BitsOf(type));
  };
  return (kind != ReduceKind::kSelect && exceeds(types.accumulator)) || exceeds(types.output);
}

AttributeSpec AccumulatorAttribute(ReduceKind kind) {
  if (kind == ReduceKind::kReal) {
    return TypeAttribute("accumulator", "What partial results are kept in; a 16-bit one rounds each of them.",
                         "FP32, for FP64 (x or y) and integers FP64", {"FP16", "BF16", "FP32", "FP64"});
  }
  if (kind == ReduceKind::kSelect || kind == ReduceKind::kIndex) {
    return TypeAttribute("accumulator", "Checked, and without effect: nothing is rounded in a comparison.",
                         "the widest of the kind of x", {"FP16", "BF16", "FP32", "FP64", "INT32", "INT64"});
  }
  return TypeAttribute("accumulator", "What partial results are kept in; a 16-bit one rounds each of them.",
                       "FP32, for FP64 (x or y) FP64, INT32 for 8-bit integers, INT64 for wider ones",
                       {"FP16", "BF16", "FP32", "FP64", "INT32", "INT64"});
}

AttributeSpec OutputTypeAttribute(ReduceKind kind) {
  const char* const doc = "Type of y; the result is rounded to it once, or refused where it does not fit an integer.";
  switch (kind) {
    case ReduceKind::kIndex:
      return TypeAttribute("output_type", "Type of y.", "INT64", {"INT32", "INT64"});
    case ReduceKind::kMean:
    case ReduceKind::kReal:
      return TypeAttribute("output_type", "Type of y; the result is rounded to it once.",
                           "the type of x, FP32 for FP8 and integers", {"FP16", "BF16", "FP32", "FP64"});
    case ReduceKind::kSelect:
      return TypeAttribute("output_type", doc, "the type of x, FP32 for FP8",
                           {"FP16", "BF16", "FP32", "FP64", "INT32", "INT64"});
    default:
      return TypeAttribute("output_type", doc, "the type of x, FP32 for FP8, the accumulator for integers",
                           {"FP16", "BF16", "FP32", "FP64", "INT32", "INT64"});
  }
}

void DescribeReduction(ReduceKind kind, OperatorSpec* spec) {
  DataTypeSet outputs = OutputsFor(kind, DataType::kInt32);
  if (kind == ReduceKind::kSelect) {
    outputs = DataTypeSet{DataType::kFp16, DataType::kBf16,  DataType::kFp32,  DataType::kFp64,
                          DataType::kInt8, DataType::kUint8, DataType::kInt32, DataType::kInt64};
  }
  const DataType listed = kind == ReduceKind::kIndex ? DataType::kInt64 : DataType::kFp32;
  spec->inputs = {{"x", kReducibleTypes, DataType::kFp32, {-1}, false, "Any shape."}};
  spec->outputs = {{"y", outputs, listed, {-1}, false, "The shape of x without the reduced axes."}};
  AttributeSpec axes;
  axes.name = "axes";
  axes.kind = AttributeKind::kIntList;
  axes.doc = kind == ReduceKind::kIndex ? "The axis to search along; all: the index counts in the flattened tensor."
                                        : "The axes to reduce, in any order; negative ones count from the end.";
  axes.default_text = "all";
  AttributeSpec keepdims;
  keepdims.name = "keepdims";
  keepdims.kind = AttributeKind::kBool;
  keepdims.doc = "Whether reduced axes stay, with extent 1.";
  keepdims.default_text = "false";
  spec->attributes = {axes, keepdims, AccumulatorAttribute(kind), OutputTypeAttribute(kind)};
}

}  // namespace kernelwire
