#include "tests/end_to_end/wire_case.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <variant>

#include "absl/strings/str_cat.h"
#include "kernels/testing/generators.h"
#include "kernels/testing/tolerance.h"

namespace kernelwire::testing {
namespace {

void SetParameter(const AttributeValue& value, inference::InferParameter* parameter) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    parameter->set_bool_param(*flag);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    parameter->set_int64_param(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    parameter->set_double_param(*real);
  } else {
    parameter->set_string_param(std::get<std::string>(value));
  }
}

bool HasTypedField(DataType dtype) {
  return dtype == DataType::kFp32 || dtype == DataType::kFp64 || dtype == DataType::kInt32 ||
         dtype == DataType::kInt64 || dtype == DataType::kInt8 || dtype == DataType::kUint8 || dtype == DataType::kBool;
}

void SetTyped(const HostTensor& tensor, inference::InferTensorContents* contents) {
  const std::int64_t count = tensor.desc.shape.ElementCount().value_or(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = ReadElement(tensor.desc.dtype, tensor.bytes.data(), i);
    switch (tensor.desc.dtype) {
      case DataType::kFp32:
        contents->add_fp32_contents(static_cast<float>(value));
        break;
      case DataType::kFp64:
        contents->add_fp64_contents(value);
        break;
      case DataType::kInt64: {
        std::int64_t exact = 0;
        std::memcpy(&exact, tensor.bytes.data() + 8 * i, sizeof(exact));
        contents->add_int64_contents(exact);
        break;
      }
      case DataType::kUint8:
        contents->add_uint_contents(static_cast<std::uint32_t>(value));
        break;
      case DataType::kBool:
        contents->add_bool_contents(value != 0);
        break;
      default:
        contents->add_int_contents(static_cast<std::int32_t>(value));
    }
  }
}

}  // namespace

const char* NameOf(Form form) {
  switch (form) {
    case Form::kRaw:
      return "raw";
    case Form::kTyped:
      return "typed";
    case Form::kMixed:
      return "mixed";
  }
  return "";
}

bool CanTravel(const OperatorCase& test_case, Form form) {
  int present = 0;
  int typed = 0;
  for (const HostTensor& input : test_case.inputs) {
    present += input.present() ? 1 : 0;
    typed += input.present() && HasTypedField(input.desc.dtype) ? 1 : 0;
  }
  return form == Form::kRaw || (form == Form::kTyped && typed == present) ||
         (form == Form::kMixed && present > 1 && typed > 0);
}

inference::ModelInferRequest ToWire(const OperatorSpec& spec, const OperatorCase& test_case, Form form) {
  inference::ModelInferRequest request;
  request.set_model_name(spec.name);
  request.set_id(test_case.name);
  bool typed_turn = true;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const HostTensor& input = test_case.inputs[i];
    if (!input.present()) {
      continue;
    }
    auto* wire = request.add_inputs();
    wire->set_name(spec.inputs[i].name);
    wire->set_datatype(kernelwire::NameOf(input.desc.dtype));
    for (const std::int64_t extent : input.desc.shape) {
      wire->add_shape(extent);
    }
    const bool typed = form == Form::kTyped || (form == Form::kMixed && typed_turn && HasTypedField(input.desc.dtype));
    if (typed) {
      SetTyped(input, wire->mutable_contents());
      typed_turn = false;
    } else {
      request.add_raw_input_contents(input.bytes.data(), input.bytes.size());
      typed_turn = true;
    }
  }
  for (const auto& [name, value] : test_case.attributes) {
    SetParameter(value, &(*request.mutable_parameters())[name]);
  }
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    if ((test_case.wanted_outputs >> i & 1u) != 0) {
      request.add_outputs()->set_name(spec.outputs[i].name);
    }
  }
  return request;
}

std::vector<HostTensor> FromWire(const OperatorSpec& spec, const inference::ModelInferResponse& reply) {
  std::vector<HostTensor> outputs(spec.outputs.size());
  for (int i = 0; i < reply.outputs_size() && i < reply.raw_output_contents_size(); ++i) {
    const auto& wire = reply.outputs(i);
    const int index = spec.OutputIndex(wire.name());
    if (index < 0) {
      continue;
    }
    HostTensor& tensor = outputs[static_cast<std::size_t>(index)];
    tensor.desc.dtype = DataTypeFromName(wire.datatype()).value_or(DataType::kInvalid);
    for (const std::int64_t extent : wire.shape()) {
      tensor.desc.shape.Append(extent);
    }
    const std::string& raw = reply.raw_output_contents(i);
    tensor.bytes.resize(raw.size());
    std::transform(raw.begin(), raw.end(), tensor.bytes.begin(),
                   [](char byte) { return static_cast<std::byte>(byte); });
  }
  return outputs;
}

std::string DisagreementOf(const std::vector<ExpectedOutput>& expected, const std::vector<HostTensor>& actual) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].wanted != actual[i].present()) {
      return absl::StrCat("output ", i, expected[i].wanted ? " is missing" : " came unasked");
    }
    if (expected[i].wanted && actual[i].desc.ByteSize() != actual[i].bytes.size()) {
      return absl::StrCat("output ", i, ": ", actual[i].bytes.size(), " bytes for shape ",
                          actual[i].desc.shape.ToString());
    }
    const std::string disagreement = expected[i].wanted ? Disagreement(expected[i], actual[i]) : "";
    if (!disagreement.empty()) {
      return absl::StrCat("output ", i, ": ", disagreement);
    }
  }
  return "";
}

std::unique_ptr<Stub> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return std::make_unique<Stub>(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

std::unique_ptr<grpc::ClientContext> Deadline(double seconds) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_wait_for_ready(true);  // a first connection that fails is tried again, as real clients do
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
  return context;
}

inference::ModelInferRequest SoftmaxRequest(int rows, int width) {
  inference::ModelInferRequest request;
  request.set_model_name("softmax");
  auto* x = request.add_inputs();
  x->set_name("x");
  x->set_datatype("FP32");
  x->add_shape(rows);
  x->add_shape(width);
  const std::vector<float> ones(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width), 1.0f);
  request.add_raw_input_contents(ones.data(), ones.size() * sizeof(float));
  return request;
}

}  // namespace kernelwire::testing
