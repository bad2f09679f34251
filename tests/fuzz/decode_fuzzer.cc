// Arbitrary bytes as a ModelInferRequest, in slices that the bytes choose too.
//
// Input: a count of cuts (taken modulo 16), that many bytes each saying how far the next cut is, and the message.
// What must hold: nothing is read or written out of bounds (every slice and every destination is a heap block of
// exactly its size, under the address sanitizer); and what is accepted is what the generated parser makes of the
// same bytes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "grpc/slice.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/codec/infer_message.h"
#include "server/codec/infer_reply.h"
#include "tests/fuzz/catalog_under_test.h"

namespace kernelwire::fuzz {
namespace {

using inference::InferTensorContents;
using Request = inference::ModelInferRequest;

void FreeSlice(void* bytes) { delete[] static_cast<std::uint8_t*>(bytes); }

/// A heap block of its own, so that one byte too far is seen.
grpc::Slice ExactSlice(const std::uint8_t* data, std::size_t size) {
  auto* const block = new std::uint8_t[size];
  std::memcpy(block, data, size);
  return grpc::Slice(block, size, &FreeSlice);
}

/// The message, cut as the first bytes say; `message` becomes its bytes in one piece.
grpc::ByteBuffer CutMessage(const std::uint8_t* data, std::size_t size, std::string* message) {
  const std::size_t wanted = size > 0 ? data[0] % 16u : 0;
  const std::size_t cuts = size > wanted ? wanted : 0;
  const std::uint8_t* const distances = data + 1;
  const std::size_t prefix = size > 0 ? 1 + cuts : 0;
  const std::uint8_t* at = data + prefix;
  std::size_t left = size - prefix;
  message->assign(reinterpret_cast<const char*>(at), left);
  std::vector<grpc::Slice> slices;
  for (std::size_t i = 0; i < cuts; ++i) {
    const std::size_t length = distances[i] < left ? distances[i] : left;
    slices.push_back(ExactSlice(at, length));
    at += length;
    left -= length;
  }
  slices.push_back(ExactSlice(at, left));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

template <typename Element, typename List>
std::string BytesOf(const List& list) {
  std::string bytes;
  for (const auto value : list) {
    const auto element = static_cast<Element>(value);
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
  return bytes;
}

/// The bytes that typed contents stand for, by way of the generated message.
std::string ElementBytes(const InferTensorContents& contents, DataType dtype) {
  switch (dtype) {
    case DataType::kBool:
      return BytesOf<std::uint8_t>(contents.bool_contents());
    case DataType::kInt8:
      return BytesOf<std::int8_t>(contents.int_contents());
    case DataType::kInt32:
      return BytesOf<std::int32_t>(contents.int_contents());
    case DataType::kInt64:
      return BytesOf<std::int64_t>(contents.int64_contents());
    case DataType::kFp32:
      return BytesOf<float>(contents.fp32_contents());
    case DataType::kFp64:
      return BytesOf<double>(contents.fp64_contents());
    default:
      return BytesOf<std::uint8_t>(contents.uint_contents());
  }
}

/// Copies every input out, and compares with the reference.
void CheckInputs(const InferMessage& message, const Request& reference) {
  int next_raw = 0;
  for (const Request::InferInputTensor& input : reference.inputs()) {
    const int index = message.model()->op->spec.InputIndex(input.name());
    const DataType dtype = message.plan_request().inputs[static_cast<std::size_t>(index)]->dtype;
    const std::size_t size = message.input_bytes(index);
    const auto exact = std::make_unique<char[]>(size);
    const bool copied = message.CopyInput(index, exact.get()).ok();
    Require(copied || input.has_contents(), "raw bytes can be copied");
    const std::string& expected =
        input.has_contents() ? ElementBytes(input.contents(), dtype) : reference.raw_input_contents(next_raw++);
    Require(expected.size() == size, "an input has the size that the generated parser gives it");
    Require(!copied || size == 0 || std::memcmp(expected.data(), exact.get(), size) == 0,
            "an input has the bytes that the generated parser gives it");
  }
  Require(next_raw == reference.raw_input_contents_size(), "every raw entry has its input");
}

void CheckAccepted(const InferMessage& message, const std::string& bytes) {
  Request reference;
  Require(reference.ParseFromString(bytes), "what is accepted is a message");
  Require(message.id() == reference.id(), "the id is the one sent");
  Require(message.header().model_name() == reference.model_name(), "the model is the one named");
  Require(message.header().inputs_size() == reference.inputs_size(), "no input is lost");
  CheckInputs(message, reference);
  Require(LargestReplyBytes(message) > 0, "a reply has a size");
}

void FuzzOne(const std::uint8_t* data, std::size_t size) {
  static InferMessage message;  // reused, as the server does
  std::string bytes;
  const grpc::ByteBuffer buffer = CutMessage(data, size, &bytes);
  absl::Status status = message.Parse(buffer);
  if (status.ok()) {
    status = message.Bind(CatalogUnderTest());
  }
  if (status.ok()) {
    CheckAccepted(message, bytes);
  } else {
    const bool expected_code = absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                               absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
    Require(expected_code, "a refusal has a code of the contract");
    Require(status.message().size() < 1024, "a refusal is short");
  }
  message.Clear();
}

}  // namespace
}  // namespace kernelwire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const google::protobuf::LogSilencer* const quiet = new google::protobuf::LogSilencer;
  static_cast<void>(quiet);
  kernelwire::fuzz::FuzzOne(data, size);
  return 0;
}
