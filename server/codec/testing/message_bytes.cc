#include "server/codec/testing/message_bytes.h"

#include "absl/strings/escaping.h"
#include "grpcpp/impl/grpc_library.h"

namespace kernelwire::testing {
namespace {

// Slices reach the core through a pointer that this sets; servers and channels do it by themselves.
[[maybe_unused]] const grpc::internal::GrpcLibraryInitializer grpc_initializer;

}  // namespace

std::string FromHex(std::string_view hex) {
  std::string digits;
  for (const char c : hex) {
    if (c != ' ' && c != '\n') {
      digits.push_back(c);
    }
  }
  return absl::HexStringToBytes(digits);
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += hex.empty() ? "" : " ";
    hex += absl::BytesToHexString(absl::string_view(&c, 1));
  }
  return hex;
}

std::vector<grpc::Slice> CutAt(std::string_view bytes, const std::vector<std::size_t>& cuts) {
  std::vector<grpc::Slice> slices;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    slices.emplace_back(bytes.data() + begin, cut - begin);
    begin = cut;
  }
  slices.emplace_back(bytes.data() + begin, bytes.size() - begin);
  return slices;
}

grpc::ByteBuffer BufferOf(const std::vector<grpc::Slice>& slices) {
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer OneSlice(std::string_view bytes) { return BufferOf(CutAt(bytes, {})); }

grpc::ByteBuffer OneSlice(const google::protobuf::MessageLite& message) {
  return OneSlice(message.SerializeAsString());
}

grpc::ByteBuffer SlicesOf(std::string_view bytes, std::size_t slice_bytes) {
  std::vector<std::size_t> cuts;
  for (std::size_t cut = slice_bytes; cut < bytes.size(); cut += slice_bytes) {
    cuts.push_back(cut);
  }
  return BufferOf(CutAt(bytes, cuts));
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (buffer.Valid() && buffer.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  return bytes;
}

}  // namespace kernelwire::testing
