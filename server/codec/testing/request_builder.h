// Shorthand for requests to the probe operator.
#ifndef KERNELWIRE_SERVER_CODEC_TESTING_REQUEST_BUILDER_H_
#define KERNELWIRE_SERVER_CODEC_TESTING_REQUEST_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "open_inference.pb.h"

namespace kernelwire::testing {

/// An input without bytes is added; its contents or raw entry are the caller's.
inline inference::ModelInferRequest::InferInputTensor* AddInput(inference::ModelInferRequest* request,
                                                                const std::string& name, const std::string& datatype,
                                                                const std::vector<std::int64_t>& shape) {
  auto* const input = request->add_inputs();
  input->set_name(name);
  input->set_datatype(datatype);
  input->mutable_shape()->Add(shape.begin(), shape.end());
  return input;
}

/// Model `probe`, one raw input x of four FP32 values.
inline inference::ModelInferRequest PlainRequest() {
  inference::ModelInferRequest request;
  request.set_model_name("probe");
  request.set_id("request 1");
  AddInput(&request, "x", "FP32", {2, 2});
  request.add_raw_input_contents("0123456789abcdef");
  return request;
}

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_CODEC_TESTING_REQUEST_BUILDER_H_
