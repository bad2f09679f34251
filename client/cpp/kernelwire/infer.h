// One request for work and its reply, in plain C++.
#ifndef KERNELWIRE_CLIENT_INFER_H_
#define KERNELWIRE_CLIENT_INFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernelwire/status.h"
#include "kernelwire/tensor.h"

namespace kernelwire::client {

/// The value of an attribute. Lists travel as text: "0,2".
using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;

struct InferInput {
  std::string name;
  TensorView tensor;
};

struct InferRequest {
  std::string model;    // an operator's name: "softmax"
  std::string version;  // empty leaves the choice to the server
  std::string id;       // returned with the reply
  std::vector<InferInput> inputs;
  /// The operator's attributes, and `priority`, `timeout`, `fp8` (see proto/README.md).
  std::vector<std::pair<std::string, ParameterValue>> parameters;
  std::vector<std::string> outputs;  // the wanted ones, in this order; empty asks for the usual ones
};

struct InferReply {
  std::string model;
  std::string version;
  std::string id;
  std::vector<OutputTensor> outputs;

  /// The output of that name, or null.
  OutputTensor* Find(std::string_view name);
};

/// A request as bytes, ready to be sent any number of times. A value that shares its bytes: cheap to copy, thread-safe
/// to send from several threads.
class EncodedRequest {
 public:
  /// Inputs with an owner are referred to, the others copied, so that the caller's memory is free on return.
  /// Errors: INVALID_ARGUMENT naming the input, when shape, type and size disagree, or the bytes would exceed 2^31 - 1.
  static Result<EncodedRequest> From(const InferRequest& request);

  std::size_t byte_size() const;

 private:
  friend class Client;
  friend class Pipeline;
  struct Bytes;
  explicit EncodedRequest(std::shared_ptr<const Bytes> bytes) : bytes_(std::move(bytes)) {}
  std::shared_ptr<const Bytes> bytes_;
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_INFER_H_
