#include "server/rpc/testing/twice_operator.h"

#include <cstdint>
#include <cstring>

namespace kernelwire::testing {
namespace {

absl::StatusOr<Plan> PlanTwice(const PlanRequest& request) {
  const TensorDesc& x = *request.inputs[0];
  Plan plan;
  plan.rows = *x.shape.ElementCount();
  plan.outputs[0] = {true, x, *x.ByteSize()};
  plan.work_bytes = static_cast<std::int64_t>(*x.ByteSize());
  return plan;
}

absl::Status RunTwice(const Launch& launch, ParallelExecutor& /*threads*/) {
  for (int i = 0; i < launch.segment_count; ++i) {
    const Segment& segment = launch.segments[i];
    const auto* const x = static_cast<const float*>(segment.inputs[0]);
    auto* const y = static_cast<float*>(segment.outputs[0]);
    for (std::int64_t row = 0; row < segment.rows; ++row) {
      y[row] = 2.0F * x[row];
    }
  }
  return absl::OkStatus();
}

Operator MakeTwice() {
  Operator op;
  op.spec.name = "twice";
  op.spec.summary = "Twice its input.";
  TensorSpec tensor;
  tensor.dtypes = DataTypeSet(DataType::kFp32);
  tensor.name = "x";
  op.spec.inputs = {tensor};
  tensor.name = "y";
  op.spec.outputs = {tensor};
  op.plan = &PlanTwice;
  op.run_host = &RunTwice;
  return op;
}

}  // namespace

const Operator& TwiceOperator() {
  static const Operator* const twice = new Operator(MakeTwice());
  return *twice;
}

inference::ModelInferRequest TwiceRequest(const std::vector<float>& x, const std::string& id) {
  inference::ModelInferRequest request;
  request.set_model_name("twice");
  request.set_id(id);
  auto* const input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("FP32");
  input->add_shape(static_cast<std::int64_t>(x.size()));
  request.add_raw_input_contents(x.data(), x.size() * sizeof(float));
  return request;
}

std::vector<float> ValuesOf(const inference::ModelInferResponse& reply) {
  const std::string& bytes = reply.raw_output_contents(0);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) {  // memcpy takes no null, not even for nothing
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

}  // namespace kernelwire::testing
