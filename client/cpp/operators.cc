#include "kernelwire/operators.h"

#include <array>
#include <string>
#include <utility>

namespace kernelwire::client {
namespace {

// Appends the parameter if it was given.
template <typename T>
void Add(const char* name, const std::optional<T>& value, InferRequest* request) {
  if (value.has_value()) {
    request->parameters.emplace_back(name, *value);
  }
}

// The same for an enumeration, by the wire's names in its order.
template <typename Enum, std::size_t size>
void AddChoice(const char* name, const std::optional<Enum>& value, const std::array<const char*, size>& names,
               InferRequest* request) {
  if (value.has_value()) {
    request->parameters.emplace_back(name, std::string(names.at(static_cast<std::size_t>(*value))));
  }
}

void AddType(const char* name, const std::optional<DataType>& value, InferRequest* request) {
  if (value.has_value()) {
    request->parameters.emplace_back(name, std::string(NameOf(*value)));
  }
}

Status MissingOutput(const std::string& model, const std::string& output) {
  return Status(StatusCode::kInternal,
                "reply of '" + model + "': output '" + output + "' is missing or of another type");
}

Result<OutputTensor> InferOne(const Client& client, const InferRequest& request, const std::string& output,
                              Timeout timeout) {
  Result<InferReply> reply = client.Infer(request, timeout);
  if (!reply.ok()) {
    return reply.status();
  }
  OutputTensor* tensor = reply->Find(output);
  return tensor != nullptr ? Result<OutputTensor>(std::move(*tensor)) : MissingOutput(request.model, output);
}

InferRequest NmsRequest(const NmsInputs& inputs, const NmsOptions& options) {
  InferRequest request;
  request.model = "nms";
  request.inputs = {{"boxes", inputs.boxes}, {"scores", inputs.scores}};
  if (inputs.classes.has_value()) {
    request.inputs.push_back({"classes", *inputs.classes});
  }
  if (inputs.counts.has_value()) {
    request.inputs.push_back({"counts", *inputs.counts});
  }
  Add("iou_threshold", options.iou_threshold, &request);
  Add("score_threshold", options.score_threshold, &request);
  Add("top_k", options.top_k, &request);
  Add("max_output", options.max_output, &request);
  Add("max_per_class", options.max_per_class, &request);
  AddChoice("box_coding", options.box_coding, std::array{"xyxy", "yxyx", "xywh", "cxcywh"}, &request);
  AddChoice("soft_nms", options.soft_nms, std::array{"none", "linear", "gaussian"}, &request);
  Add("sigma", options.sigma, &request);
  if (options.rotated) {
    request.parameters.emplace_back("rotated", true);
  }
  AddChoice("angle_unit", options.angle_unit, std::array{"degrees", "radians"}, &request);
  return request;
}

// Cuts the padded outputs, [images, width] or [kept], into images.
Result<std::vector<NmsKept>> KeptOf(InferReply& reply) {
  const auto typed = [&reply](const char* name, DataType dtype) {
    OutputTensor* output = reply.Find(name);
    return output != nullptr && output->dtype() == dtype ? output : nullptr;
  };
  OutputTensor* indices = typed("indices", DataType::kInt64);
  OutputTensor* count = typed("count", DataType::kInt32);
  OutputTensor* scores = typed("scores", DataType::kFp32);
  if (indices == nullptr || count == nullptr || scores == nullptr || indices->shape().empty()) {
    return MissingOutput("nms", indices == nullptr ? "indices" : count == nullptr ? "count" : "scores");
  }
  const auto all_indices = indices->ToVector<std::int64_t>();
  const auto all_scores = scores->ToVector<float>();
  const auto width = static_cast<std::size_t>(indices->shape().back());
  std::vector<NmsKept> kept;
  for (const std::int32_t in_image : count->ToVector<std::int32_t>()) {
    const std::size_t begin = kept.size() * width;
    const auto size = static_cast<std::size_t>(in_image);
    if (in_image < 0 || size > width || begin + size > all_indices.size() || begin + size > all_scores.size()) {
      return Status(StatusCode::kInternal, "reply of 'nms': output 'count' does not fit 'indices' and 'scores'");
    }
    const auto from = static_cast<std::ptrdiff_t>(begin);
    const auto to = static_cast<std::ptrdiff_t>(begin + size);
    kept.push_back(
        {{all_indices.begin() + from, all_indices.begin() + to}, {all_scores.begin() + from, all_scores.begin() + to}});
  }
  return kept;
}

}  // namespace

Result<OutputTensor> RmsNorm(const Client& client, const TensorView& x, const std::optional<TensorView>& weight,
                             const RmsNormOptions& options, Timeout timeout) {
  InferRequest request;
  request.model = "rms_norm";
  request.inputs = {{"x", x}};
  if (weight.has_value()) {
    request.inputs.push_back({"weight", *weight});
  }
  Add("axis", options.axis, &request);
  Add("epsilon", options.epsilon, &request);
  AddType("output_type", options.output_type, &request);
  return InferOne(client, request, "y", timeout);
}

Result<OutputTensor> Softmax(const Client& client, const TensorView& x, const SoftmaxOptions& options,
                             Timeout timeout) {
  InferRequest request;
  request.model = "softmax";
  request.inputs = {{"x", x}};
  if (options.all_axes) {
    request.parameters.emplace_back("axis", std::string("all"));
  } else {
    Add("axis", options.axis, &request);
  }
  AddChoice("algorithm", options.algorithm, std::array{"auto", "safe", "online"}, &request);
  AddType("output_type", options.output_type, &request);
  return InferOne(client, request, "y", timeout);
}

Result<std::vector<NmsKept>> Nms(const Client& client, const NmsInputs& inputs, const NmsOptions& options,
                                 Timeout timeout) {
  Result<InferReply> reply = client.Infer(NmsRequest(inputs, options), timeout);
  if (!reply.ok()) {
    return reply.status();
  }
  return KeptOf(*reply);
}

}  // namespace kernelwire::client
