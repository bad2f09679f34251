#include "client/cpp/operator_call.h"

#include <charconv>

namespace kernelwire::client {
namespace {

template <typename T>
std::string JoinedByCommas(const std::vector<T>& values) {
  std::array<char, 32> digits{};  // the longest: -1.7976931348623157e+308
  std::string text;
  for (const T value : values) {
    const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text += text.empty() ? "" : ",";
    text.append(digits.data(), end.ptr);
  }
  return text;
}

}  // namespace

std::string ListText(const std::vector<std::int64_t>& values) { return JoinedByCommas(values); }
std::string ListText(const std::vector<double>& values) { return JoinedByCommas(values); }

OperatorCall& OperatorCall::Input(const char* name, const std::optional<TensorView>& tensor) {
  if (tensor.has_value()) {
    request_.inputs.push_back({name, *tensor});
  }
  return *this;
}

OperatorCall& OperatorCall::Attribute(const char* name, const std::optional<DataType>& type) {
  if (type.has_value()) {
    request_.parameters.emplace_back(name, std::string(NameOf(*type)));
  }
  return *this;
}

Result<std::vector<OutputTensor>> OperatorCall::RunFor(std::vector<std::string> outputs, const Client& client,
                                                       Timeout timeout) {
  request_.outputs = std::move(outputs);
  Result<InferReply> reply = client.Infer(request_, timeout);
  if (!reply.ok()) {
    return reply.status();
  }
  std::vector<OutputTensor> tensors;
  for (const std::string& name : request_.outputs) {
    OutputTensor* const tensor = reply->Find(name);
    if (tensor == nullptr) {
      return MissingOutput(request_.model, name);
    }
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

Result<OutputTensor> OperatorCall::RunFor(const char* output, const Client& client, Timeout timeout) {
  Result<std::vector<OutputTensor>> tensors = RunFor(std::vector<std::string>{output}, client, timeout);
  return tensors.ok() ? Result<OutputTensor>(std::move(tensors->front())) : tensors.status();
}

Status MissingOutput(const std::string& model, const std::string& output) {
  return Status(StatusCode::kInternal,
                "reply of '" + model + "': output '" + output + "' is missing or of another type");
}

}  // namespace kernelwire::client
