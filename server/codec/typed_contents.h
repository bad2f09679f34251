// InferTensorContents: a tensor's elements as numbers of the protocol, turned into the tensor's bytes.
//
// Read straight from the slices rather than through the generated message: an element of one byte on the wire would
// become eight bytes there, twice that while the list grows, and all of it before the request has been admitted.
#ifndef KERNELWIRE_SERVER_CODEC_TYPED_CONTENTS_H_
#define KERNELWIRE_SERVER_CODEC_TYPED_CONTENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/slice.h"
#include "kernels/core/dtype.h"
#include "server/codec/slice_reader.h"

namespace kernelwire {

/// The values of one input, as the client wrote them: packed or not, in one piece or several.
class TypedContents {
 public:
  /// `input_name` is for messages. `contents` is an InferTensorContents in `slices`, which outlive this object.
  TypedContents(const std::vector<grpc::Slice>& slices, const ByteRange& contents, const std::string& input_name,
                DataType dtype);

  /// That there are `count` values, all in the one list that fits the type. Errors: INVALID_ARGUMENT.
  absl::Status Check(std::int64_t count) const;

  /// Writes the elements, `count` of them. Requires: Check(count) was OK.
  /// Errors: INVALID_ARGUMENT for a value that the type cannot hold, which names its index.
  absl::Status CopyTo(void* destination) const;

 private:
  struct Run;
  template <typename Visitor>
  absl::Status ForEachRun(Visitor visit) const;
  absl::Status SkipOther(std::uint32_t list, WireType type, SliceReader* reader) const;
  absl::Status Count(std::int64_t* count) const;
  template <typename Element, typename Wide>
  absl::Status CopyNumbers(Element* to) const;
  absl::Status CopyFixed(void* destination) const;
  absl::Status Malformed() const;

  const std::vector<grpc::Slice>& slices_;
  const ByteRange contents_;
  const std::string& input_name_;
  const DataType dtype_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_TYPED_CONTENTS_H_
