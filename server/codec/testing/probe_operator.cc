#include "server/codec/testing/probe_operator.h"

#include "kernels/core/status_macros.h"

namespace kernelwire::testing {
namespace {

constexpr DataTypeSet kAllTypes{DataType::kBool,  DataType::kInt8,    DataType::kUint8,  DataType::kInt32,
                                DataType::kInt64, DataType::kFp16,    DataType::kBf16,   DataType::kFp32,
                                DataType::kFp64,  DataType::kFp8E4m3, DataType::kFp8E5m2};

absl::Status PlanOutput(const PlanRequest& request, std::size_t index, const TensorDesc& desc, Plan* plan) {
  const std::optional<std::size_t> bytes = desc.ByteSize();
  if (!bytes.has_value()) {
    return absl::InvalidArgumentError("input 'x': expected a shape whose outputs can be counted");
  }
  if ((request.wanted_outputs >> index & 1u) != 0) {
    plan->outputs[index] = {true, desc, *bytes};
  }
  return absl::OkStatus();
}

absl::StatusOr<Plan> PlanProbe(const PlanRequest& request) {
  const TensorDesc& x = *request.inputs[0];
  Plan plan;
  plan.rows = *x.shape.ElementCount();
  KERNELWIRE_RETURN_IF_ERROR(PlanOutput(request, 0, x, &plan));
  KERNELWIRE_RETURN_IF_ERROR(PlanOutput(request, 1, TensorDesc{DataType::kInt32, {1}}, &plan));
  KERNELWIRE_RETURN_IF_ERROR(PlanOutput(request, 2, TensorDesc{DataType::kFp64, x.shape}, &plan));
  return plan;
}

TensorSpec Tensor(const char* name, DataTypeSet dtypes, DataType listed, bool optional) {
  TensorSpec spec;
  spec.name = name;
  spec.dtypes = dtypes;
  spec.listed_dtype = listed;
  spec.optional = optional;
  return spec;
}

AttributeSpec Attribute(const char* name, AttributeKind kind, std::vector<std::string> choices = {}) {
  AttributeSpec spec;
  spec.name = name;
  spec.kind = kind;
  spec.doc = "Changes nothing.";
  spec.default_text = "none";
  spec.choices = std::move(choices);
  return spec;
}

Operator MakeProbe() {
  Operator op;
  op.spec.name = "probe";
  op.spec.inputs = {Tensor("x", kAllTypes, DataType::kFp32, false), Tensor("y", kAllTypes, DataType::kFp8E4m3, true),
                    Tensor("z", DataTypeSet(DataType::kFp32), DataType::kFp32, true)};
  op.spec.outputs = {Tensor("copy", kAllTypes, DataType::kBf16, false),
                     Tensor("count", DataTypeSet(DataType::kInt32), DataType::kInt32, false),
                     Tensor("wide", DataTypeSet(DataType::kFp64), DataType::kFp64, true)};
  op.spec.outputs[1].dims = {1};
  op.spec.attributes = {Attribute("axis", AttributeKind::kInt), Attribute("epsilon", AttributeKind::kDouble),
                        Attribute("mode", AttributeKind::kEnum, {"slow", "fast"}),
                        Attribute("strict", AttributeKind::kBool)};
  op.plan = &PlanProbe;
  return op;
}

}  // namespace

const Operator& ProbeOperator() {
  static const Operator* const probe = new Operator(MakeProbe());
  return *probe;
}

const Catalog& ProbeCatalog() {
  static const Catalog* const catalog =
      new Catalog({{"probe", "1", &ProbeOperator(), 0}, {"silent", "3", &ProbeOperator(), 0}});
  return *catalog;
}

}  // namespace kernelwire::testing
