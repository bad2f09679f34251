#include "kernelwire/reductions.h"

#include "client/cpp/operator_call.h"

namespace kernelwire::client {
namespace {

Result<OutputTensor> Reduce(const char* model, const Client& client, const TensorView& x,
                            const ReductionOptions& options, Timeout timeout) {
  return OperatorCall(model)
      .Input("x", x)
      .List("axes", options.axes)
      .Flag("keepdims", options.keepdims)
      .Attribute("accumulator", options.accumulator)
      .Attribute("output_type", options.output_type)
      .RunFor("y", client, timeout);
}

}  // namespace

Result<OutputTensor> Sum(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout) {
  return Reduce("sum", client, x, options, timeout);
}

Result<OutputTensor> Prod(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout) {
  return Reduce("prod", client, x, options, timeout);
}

Result<OutputTensor> Mean(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout) {
  return Reduce("mean", client, x, options, timeout);
}

Result<OutputTensor> Logsumexp(const Client& client, const TensorView& x, const ReductionOptions& options,
                               Timeout timeout) {
  return Reduce("logsumexp", client, x, options, timeout);
}

Result<OutputTensor> L2Norm(const Client& client, const TensorView& x, const ReductionOptions& options,
                            Timeout timeout) {
  return Reduce("l2_norm", client, x, options, timeout);
}

Result<OutputTensor> Max(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout) {
  return Reduce("max", client, x, options, timeout);
}

Result<OutputTensor> Min(const Client& client, const TensorView& x, const ReductionOptions& options, Timeout timeout) {
  return Reduce("min", client, x, options, timeout);
}

Result<OutputTensor> Argmax(const Client& client, const TensorView& x, const ReductionOptions& options,
                            Timeout timeout) {
  return Reduce("argmax", client, x, options, timeout);
}

Result<OutputTensor> Argmin(const Client& client, const TensorView& x, const ReductionOptions& options,
                            Timeout timeout) {
  return Reduce("argmin", client, x, options, timeout);
}

Result<OutputTensor> Dot(const Client& client, const TensorView& a, const TensorView& b, const DotOptions& options,
                         Timeout timeout) {
  return OperatorCall("dot")
      .Input("a", a)
      .Input("b", b)
      .Attribute("accumulator", options.accumulator)
      .Attribute("output_type", options.output_type)
      .RunFor("y", client, timeout);
}

}  // namespace kernelwire::client
