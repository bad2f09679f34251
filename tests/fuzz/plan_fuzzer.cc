// Arbitrary requests to every operator's plan function: types, shapes and attributes out of the bytes.
//
// Input: the operator; for each of its inputs a type (0: absent), a rank and extents; a count of attributes, each as
// name, kind and value; the mask of wanted outputs. What must hold of an accepted plan: sizes are those of the
// descriptions and can be added up, the outputs are those asked for, and planning again gives the same key.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/attributes.h"
#include "kernels/core/operator.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/catalog_under_test.h"

namespace kernelwire::fuzz {
namespace {

constexpr std::size_t kTypes = static_cast<std::size_t>(DataType::kFp8E5m2) + 1;

std::optional<TensorDesc> TakeTensor(ByteSource& source) {
  const auto dtype = static_cast<DataType>(source.Below(kTypes));
  if (dtype == DataType::kInvalid) {
    return std::nullopt;
  }
  TensorDesc desc{dtype, {}};
  const std::size_t rank = source.Below(Shape::kMaxRank + 1);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    desc.shape.Append(source.Integer());
  }
  return desc;
}

/// A value that fits the attribute's kind more often than not.
AttributeValue TakeValue(const AttributeSpec& spec, ByteSource& source) {
  switch (source.Below(6)) {
    case 0:
      return source.Integer();
    case 1:
      return source.Number();
    case 2:
      return source.Below(2) == 1;
    case 3:
      return source.Text();
    case 4:
      return spec.choices.empty() ? std::string("0,1") : spec.choices[source.Below(spec.choices.size())];
    default:
      return static_cast<double>(source.Below(100)) / 50.0;
  }
}

AttributeList TakeAttributes(const OperatorSpec& spec, ByteSource& source) {
  AttributeList given;
  for (std::size_t count = source.Below(6); count > 0 && !spec.attributes.empty(); --count) {
    const AttributeSpec& attribute = spec.attributes[source.Below(spec.attributes.size())];
    AttributeValue value = TakeValue(attribute, source);
    given.emplace_back(source.Below(50) == 49 ? source.Text() : attribute.name, std::move(value));
  }
  return given;
}

/// Adds up all that a request would take of a slab, as the scheduler will.
void CheckSum(const PlanRequest& request, const Plan& plan) {
  constexpr std::size_t kLimit = std::size_t{1} << 63;
  std::size_t sum = 0;
  const auto add = [&sum](std::size_t bytes) {
    Require(bytes < kLimit && sum + bytes < kLimit, "a request's sizes can be added up in 63 bits");
    sum += bytes;
  };
  for (const std::optional<TensorDesc>& input : request.inputs) {
    add(input.has_value() ? *input->ByteSize() : 0);
  }
  for (const OutputPlan& output : plan.outputs) {
    add(output.bytes);
  }
  add(plan.workspace_bytes);
}

void CheckOutputs(const OperatorSpec& spec, std::uint32_t wanted, const Plan& plan) {
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const OutputPlan& output = plan.outputs[i];
    const bool asked = wanted != 0 ? (wanted >> i & 1u) != 0 : i < spec.outputs.size() && !spec.outputs[i].optional;
    Require(output.wanted == asked, "the outputs are those asked for");
    if (!output.wanted) {
      continue;
    }
    Require(spec.outputs[i].dtypes.Contains(output.desc.dtype), "an output has one of its types");
    const std::optional<std::size_t> bytes = output.desc.ByteSize();
    Require(bytes.has_value(), "an output's size can be counted");
    Require(*bytes <= output.bytes, "an output's bytes hold what its description says");
  }
}

void CheckPlan(const Operator& op, const PlanRequest& request, const Plan& plan) {
  CheckOutputs(op.spec, request.wanted_outputs, plan);
  Require(plan.rows >= 0, "rows are counted from 0");
  Require(plan.work_bytes >= 0, "the work is not negative");
  Require(plan.workspace_bytes % 256 == 0, "the workspace is a multiple of 256 bytes");
  CheckSum(request, plan);
  const absl::StatusOr<Plan> again = PlanRequestFor(op, request);
  Require(again.ok() && again->key == plan.key && again->rows == plan.rows, "planning again gives the same plan");
}

void FuzzOne(const std::uint8_t* data, std::size_t size) {
  ByteSource source(data, size);
  const std::vector<Model>& models = CatalogUnderTest().models();
  const Operator& op = *models[source.Below(models.size())].op;
  PlanRequest request;
  for (std::size_t i = 0; i < op.spec.inputs.size(); ++i) {
    request.inputs[i] = TakeTensor(source);
  }
  const absl::StatusOr<Attributes> attributes = Attributes::Parse(op.spec.attributes, TakeAttributes(op.spec, source));
  if (!attributes.ok()) {
    Require(absl::IsInvalidArgument(attributes.status()), "attributes are refused as INVALID_ARGUMENT");
    return;
  }
  request.attributes = &*attributes;
  request.wanted_outputs = source.Byte() & 0x3fu;
  const absl::StatusOr<Plan> plan = PlanRequestFor(op, request);
  if (plan.ok()) {
    CheckPlan(op, request, *plan);
  } else {
    Require(absl::IsInvalidArgument(plan.status()), "a plan is refused as INVALID_ARGUMENT");
    Require(!plan.status().message().empty(), "a refusal says why");
  }
}

}  // namespace
}  // namespace kernelwire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kernelwire::fuzz::FuzzOne(data, size);
  return 0;
}
