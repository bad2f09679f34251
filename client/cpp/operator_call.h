// From typed options to a request, and from a reply to typed outputs: what the calls of all families share.
#ifndef KERNELWIRE_CLIENT_OPERATOR_CALL_H_
#define KERNELWIRE_CLIENT_OPERATOR_CALL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernelwire/client.h"
#include "kernelwire/infer.h"
#include "kernelwire/tensor.h"

namespace kernelwire::client {

/// "0,2": a list as it travels. The shortest text that reads back as the same number, in every locale.
std::string ListText(const std::vector<std::int64_t>& values);
std::string ListText(const std::vector<double>& values);

/// A request for an operator, put together piece by piece. What was not given stays out of it, so that the server's
/// default counts.
class OperatorCall {
 public:
  explicit OperatorCall(std::string model) { request_.model = std::move(model); }

  OperatorCall& Input(const char* name, const std::optional<TensorView>& tensor);

  /// T: bool, std::int64_t, double, std::string.
  template <typename T>
  OperatorCall& Attribute(const char* name, const std::optional<T>& value) {
    if (value.has_value()) {
      request_.parameters.emplace_back(name, *value);
    }
    return *this;
  }
  OperatorCall& Attribute(const char* name, const std::optional<DataType>& type);
  /// An enumeration, by the wire's names in its order.
  template <typename Enum, std::size_t size>
  OperatorCall& Choice(const char* name, const std::optional<Enum>& value, const std::array<const char*, size>& names) {
    if (value.has_value()) {
      request_.parameters.emplace_back(name, std::string(names.at(static_cast<std::size_t>(*value))));
    }
    return *this;
  }
  /// A list of std::int64_t or double; nothing is sent of an empty one.
  template <typename T>
  OperatorCall& List(const char* name, const std::vector<T>& values) {
    if (!values.empty()) {
      request_.parameters.emplace_back(name, ListText(values));
    }
    return *this;
  }
  /// An attribute whose default is false.
  OperatorCall& Flag(const char* name, bool value) {
    return Attribute(name, value ? std::optional<bool>(true) : std::nullopt);
  }

  const InferRequest& request() const { return request_; }

  /// Asks for these outputs and returns them, in this order. Errors: those of Client::Infer; INTERNAL for one that is
  /// missing.
  Result<std::vector<OutputTensor>> RunFor(std::vector<std::string> outputs, const Client& client, Timeout timeout);
  /// The same for one output.
  Result<OutputTensor> RunFor(const char* output, const Client& client, Timeout timeout);

 private:
  InferRequest request_;
};

/// INTERNAL: what a reply of `model` lacks.
Status MissingOutput(const std::string& model, const std::string& output);

/// The elements of an output. Errors: INTERNAL when it is missing or of another type than T's.
template <typename T>
Result<std::vector<T>> ValuesOf(const std::string& model, InferReply& reply, const std::string& output) {
  const OutputTensor* const tensor = reply.Find(output);
  if (tensor == nullptr || tensor->dtype() != DataTypeOf<T>::value) {
    return MissingOutput(model, output);
  }
  return tensor->ToVector<T>();
}

/// `size` elements from `begin` on. Requires: they are there.
template <typename T>
std::vector<T> Cut(const std::vector<T>& values, std::size_t begin, std::size_t size) {
  const auto from = values.begin() + static_cast<std::ptrdiff_t>(begin);
  return {from, from + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_OPERATOR_CALL_H_
