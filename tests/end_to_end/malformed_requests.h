// Requests that must be refused, made from good ones by one change each.
#ifndef KERNELWIRE_TESTS_END_TO_END_MALFORMED_REQUESTS_H_
#define KERNELWIRE_TESTS_END_TO_END_MALFORMED_REQUESTS_H_

#include <string>
#include <vector>

#include "grpcpp/support/status.h"
#include "open_inference.pb.h"

namespace kernelwire::testing {

struct MalformedRequest {
  std::string name;
  inference::ModelInferRequest request;
  grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
  std::string mentions;  // what the message must name
};

/// At least 200, over every operator.
std::vector<MalformedRequest> MalformedRequests();

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_TESTS_END_TO_END_MALFORMED_REQUESTS_H_
