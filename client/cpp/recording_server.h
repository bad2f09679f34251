// A server for tests of the typed calls: it keeps the last request and answers what it was told.
#ifndef KERNELWIRE_CLIENT_RECORDING_SERVER_H_
#define KERNELWIRE_CLIENT_RECORDING_SERVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cpp/fake_server.h"
#include "kernelwire/client.h"

namespace kernelwire::client {

struct RecordingServer {
  inference::ModelInferRequest request;
  inference::ModelInferResponse reply;
  FakeServer server{[this](auto*, const inference::ModelInferRequest& got, inference::ModelInferResponse* answer) {
    request = got;
    *answer = reply;
    return grpc::Status::OK;
  }};
  Client client = Client::Connect(server.address());

  template <typename T>
  void AddOutput(const char* name, const std::vector<std::int64_t>& shape, const std::vector<T>& values) {
    auto* output = reply.add_outputs();
    output->set_name(name);
    output->set_datatype(NameOf(DataTypeOf<T>::value));
    output->mutable_shape()->Add(shape.begin(), shape.end());
    reply.add_raw_output_contents(values.data(), values.size() * sizeof(T));
  }

  std::vector<std::string> InputNames() const {
    std::vector<std::string> names;
    for (const auto& input : request.inputs()) {
      names.push_back(input.name());
    }
    return names;
  }
  std::vector<std::string> OutputNames() const {
    std::vector<std::string> names;
    for (const auto& output : request.outputs()) {
      names.push_back(output.name());
    }
    return names;
  }
  /// An attribute that travels as text.
  std::string Text(const std::string& name) const { return request.parameters().at(name).string_param(); }
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_RECORDING_SERVER_H_
