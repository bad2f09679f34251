// An operator's test case as a request on the wire, in every form that the protocol has for tensors, and its reply as
// tensors again.
#ifndef KERNELWIRE_TESTS_END_TO_END_WIRE_CASE_H_
#define KERNELWIRE_TESTS_END_TO_END_WIRE_CASE_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "kernels/testing/case.h"
#include "open_inference.grpc.pb.h"

namespace kernelwire::testing {

using Stub = inference::GRPCInferenceService::Stub;

/// How tensors travel: all raw, all in typed contents, or by turns.
enum class Form : std::uint8_t { kRaw, kTyped, kMixed };
const char* NameOf(Form form);

/// Whether every input of the case can travel in that form (FP16 and BF16 have no typed field).
bool CanTravel(const OperatorCase& test_case, Form form);

inference::ModelInferRequest ToWire(const OperatorSpec& spec, const OperatorCase& test_case, Form form);

/// The reply's outputs in the spec's order; absent ones have dtype kInvalid.
std::vector<HostTensor> FromWire(const OperatorSpec& spec, const inference::ModelInferResponse& reply);

/// "" when the reply agrees with the oracle.
std::string DisagreementOf(const std::vector<ExpectedOutput>& expected, const std::vector<HostTensor>& actual);

/// A stub of a channel of its own with the limits that large tests need.
std::unique_ptr<Stub> Connect(const std::string& address);

/// A context whose deadline is `seconds` away: generous, there to end a test that hangs.
std::unique_ptr<grpc::ClientContext> Deadline(double seconds = 60);

/// A softmax request over `rows` x `width` of FP32, each value 1.
inference::ModelInferRequest SoftmaxRequest(int rows, int width);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_TESTS_END_TO_END_WIRE_CASE_H_
