#include "kernelwire/softmax.h"

#include <array>
#include <string>

#include "client/cpp/operator_call.h"

namespace kernelwire::client {
namespace {

Result<OutputTensor> RunSoftmax(const char* model, const Client& client, const TensorView& x,
                                const SoftmaxOptions& options, Timeout timeout) {
  constexpr std::array kAlgorithms = {"auto", "safe", "online"};
  OperatorCall call(model);
  call.Input("x", x);
  if (options.all_axes) {
    call.Attribute("axis", std::optional<std::string>("all"));
  } else {
    call.Attribute("axis", options.axis);
  }
  return call.Choice("algorithm", options.algorithm, kAlgorithms)
      .Attribute("output_type", options.output_type)
      .RunFor("y", client, timeout);
}

}  // namespace

Result<OutputTensor> Softmax(const Client& client, const TensorView& x, const SoftmaxOptions& options,
                             Timeout timeout) {
  return RunSoftmax("softmax", client, x, options, timeout);
}

Result<OutputTensor> LogSoftmax(const Client& client, const TensorView& x, const SoftmaxOptions& options,
                                Timeout timeout) {
  return RunSoftmax("log_softmax", client, x, options, timeout);
}

}  // namespace kernelwire::client
