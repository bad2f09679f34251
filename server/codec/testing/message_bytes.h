// Messages for tests: bytes written in hexadecimal, cut into slices where the test wants.
#ifndef KERNELWIRE_SERVER_CODEC_TESTING_MESSAGE_BYTES_H_
#define KERNELWIRE_SERVER_CODEC_TESTING_MESSAGE_BYTES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace kernelwire::testing {

/// The bytes of "0a 05 70", blanks ignored. Requires: hexadecimal digits in pairs.
std::string FromHex(std::string_view hex);

/// "0a 05 70".
std::string ToHex(std::string_view bytes);

/// Slices of `bytes` that end at each of `cuts` (ascending, repeated ones make empty slices) and at the end.
std::vector<grpc::Slice> CutAt(std::string_view bytes, const std::vector<std::size_t>& cuts);

/// A buffer of one slice, of slices of `slice_bytes` each, of the given slices.
grpc::ByteBuffer OneSlice(std::string_view bytes);
grpc::ByteBuffer SlicesOf(std::string_view bytes, std::size_t slice_bytes);
grpc::ByteBuffer BufferOf(const std::vector<grpc::Slice>& slices);
grpc::ByteBuffer OneSlice(const google::protobuf::MessageLite& message);

/// All bytes of a buffer in one string.
std::string BytesOf(const grpc::ByteBuffer& buffer);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_SERVER_CODEC_TESTING_MESSAGE_BYTES_H_
