// A ModelInferRequest taken apart without reading its tensors: where their bytes lie, and everything else in one piece
// for the generated parser.
//
// What is left for the generated parser is small and bounded, whatever the client sent: it turns each field into an
// object of many times the field's size, so a message of tiny fields must not reach it.
#ifndef KERNELWIRE_SERVER_CODEC_REQUEST_FIELDS_H_
#define KERNELWIRE_SERVER_CODEC_REQUEST_FIELDS_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/slice.h"
#include "kernels/core/segment.h"
#include "server/codec/slice_reader.h"

namespace kernelwire {

/// The most bytes of names, shapes, parameters and their framing in one request.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{1024} * 1024;

/// Reusable: Clear keeps the memory of `header`.
struct RequestFields {
  /// The `contents` of an input, which are not part of `header`.
  struct Contents {
    bool present = false;
    ByteRange range;
  };

  /// How many the message has. Of each kind only the first kMaxInputs (kMaxOutputs) are kept below and in `header`: no
  /// operator has more, so such a request is going to be refused once its model is known.
  std::size_t input_count = 0;
  std::size_t output_count = 0;
  std::size_t payload_count = 0;

  std::array<Contents, kMaxInputs> contents;   // by position in the message's inputs
  std::array<ByteRange, kMaxInputs> payloads;  // raw_input_contents, in order
  std::string header;                          // a ModelInferRequest without payloads, contents and unknown fields

  void Clear();
};

/// Requires: `fields` is clear. Errors: INVALID_ARGUMENT "message: ..." that says what is wrong at which byte, or that
/// the header would be too large; `header` then has the fields that came whole before that.
absl::Status FindRequestFields(const std::vector<grpc::Slice>& slices, RequestFields* fields);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_REQUEST_FIELDS_H_
