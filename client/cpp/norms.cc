#include "kernelwire/norms.h"

#include <string>
#include <utility>
#include <vector>

#include "client/cpp/operator_call.h"

namespace kernelwire::client {
namespace {

void AddOptions(const NormOptions& options, OperatorCall* call) {
  call->Attribute("axis", options.axis)
      .Attribute("epsilon", options.epsilon)
      .Attribute("output_type", options.output_type);
}

OperatorCall LayerNormCall(const TensorView& x, const std::optional<TensorView>& weight,
                           const std::optional<TensorView>& bias, const NormOptions& options) {
  OperatorCall call("layer_norm");
  call.Input("x", x).Input("weight", weight).Input("bias", bias);
  AddOptions(options, &call);
  return call;
}

}  // namespace

Result<OutputTensor> RmsNorm(const Client& client, const TensorView& x, const std::optional<TensorView>& weight,
                             const NormOptions& options, Timeout timeout) {
  OperatorCall call("rms_norm");
  call.Input("x", x).Input("weight", weight);
  AddOptions(options, &call);
  return call.RunFor("y", client, timeout);
}

Result<OutputTensor> LayerNorm(const Client& client, const TensorView& x, const std::optional<TensorView>& weight,
                               const std::optional<TensorView>& bias, const NormOptions& options, Timeout timeout) {
  return LayerNormCall(x, weight, bias, options).RunFor("y", client, timeout);
}

Result<LayerNormResult> LayerNormWithStatistics(const Client& client, const TensorView& x,
                                                const std::optional<TensorView>& weight,
                                                const std::optional<TensorView>& bias, const NormOptions& options,
                                                Timeout timeout) {
  Result<std::vector<OutputTensor>> outputs =
      LayerNormCall(x, weight, bias, options)
          .RunFor(std::vector<std::string>{"y", "mean", "inv_std_dev"}, client, timeout);
  if (!outputs.ok()) {
    return outputs.status();
  }
  std::vector<OutputTensor>& found = *outputs;
  return LayerNormResult{std::move(found[0]), std::move(found[1]), std::move(found[2])};
}

Result<AddRmsNormResult> AddRmsNorm(const Client& client, const TensorView& a, const TensorView& b,
                                    const std::optional<TensorView>& weight, const NormOptions& options,
                                    Timeout timeout) {
  OperatorCall call("add_rms_norm");
  call.Input("a", a).Input("b", b).Input("weight", weight);
  AddOptions(options, &call);
  Result<std::vector<OutputTensor>> outputs = call.RunFor(std::vector<std::string>{"y", "residual"}, client, timeout);
  if (!outputs.ok()) {
    return outputs.status();
  }
  std::vector<OutputTensor>& found = *outputs;
  return AddRmsNormResult{std::move(found[0]), std::move(found[1])};
}

}  // namespace kernelwire::client
