#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/infer_codec.h"
#include "client/cpp/varint.h"
#include "grpcpp/support/slice.h"
#include "open_inference.pb.h"

namespace kernelwire::client {
namespace {

using Chunk = OutputTensor::Chunk;

constexpr std::uint64_t kRawOutputField = 6;
static_assert(inference::ModelInferResponse::kRawOutputContentsFieldNumber == kRawOutputField);

// Reads a message that lies in several slices as if it were one.
class SliceReader {
 public:
  explicit SliceReader(const std::vector<grpc::Slice>& slices) : slices_(slices) { SkipEmpty(); }

  bool AtEnd() const { return slice_ == slices_.size(); }

  bool ReadVarint(std::uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (AtEnd()) {
        return false;
      }
      const std::uint8_t byte = slices_[slice_].begin()[offset_];
      Advance(1);
      *value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        return true;
      }
    }
    return false;
  }

  // Passes over `count` bytes, giving each stretch of them to `visit`.
  template <typename Visit>
  bool Read(std::uint64_t count, const Visit& visit) {
    while (count != 0) {
      if (AtEnd()) {
        return false;
      }
      const std::size_t here = slices_[slice_].size() - offset_;
      const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(count, here));
      visit(Chunk{slices_[slice_].begin() + offset_, taken});
      Advance(taken);
      count -= taken;
    }
    return true;
  }

 private:
  void Advance(std::size_t count) {
    offset_ += count;
    if (offset_ == slices_[slice_].size()) {
      ++slice_;
      offset_ = 0;
      SkipEmpty();
    }
  }
  void SkipEmpty() {
    while (!AtEnd() && slices_[slice_].size() == 0) {
      ++slice_;
    }
  }

  const std::vector<grpc::Slice>& slices_;
  std::size_t slice_ = 0;
  std::size_t offset_ = 0;
};

// The message, taken apart: where each payload lies, and all other fields as bytes for the generated parser.
struct Fields {
  std::vector<std::vector<Chunk>> payloads;
  std::string others;
};

// Copies one field that is no payload. False for a wire type that proto3 does not use, or a cut-off message.
bool CopyField(std::uint64_t tag, SliceReader* reader, std::string* others) {
  AppendVarint(tag, others);
  const auto append = [others](Chunk chunk) { others->append(reinterpret_cast<const char*>(chunk.data), chunk.size); };
  std::uint64_t value = 0;
  switch (tag & 7) {
    case 0:  // varint
      if (!reader->ReadVarint(&value)) {
        return false;
      }
      AppendVarint(value, others);
      return true;
    case 1:  // 64 bits
      return reader->Read(8, append);
    case 2:  // length-delimited
      if (!reader->ReadVarint(&value)) {
        return false;
      }
      AppendVarint(value, others);
      return reader->Read(value, append);
    case 5:  // 32 bits
      return reader->Read(4, append);
    default:
      return false;
  }
}

bool Split(SliceReader reader, Fields* fields) {
  while (!reader.AtEnd()) {
    std::uint64_t tag = 0;
    if (!reader.ReadVarint(&tag)) {
      return false;
    }
    if (tag != ((kRawOutputField << 3) | 2)) {
      if (!CopyField(tag, &reader, &fields->others)) {
        return false;
      }
      continue;
    }
    std::uint64_t size = 0;
    std::vector<Chunk>& chunks = fields->payloads.emplace_back();
    if (!reader.ReadVarint(&size) || !reader.Read(size, [&chunks](Chunk chunk) { chunks.push_back(chunk); })) {
      return false;
    }
  }
  return true;
}

Result<OutputTensor> MakeOutput(const inference::ModelInferResponse::InferOutputTensor& header,
                                std::vector<Chunk> chunks, const std::shared_ptr<const void>& memory) {
  const auto refuse = [&header](const std::string& reason) {
    return Status(StatusCode::kInternal, "reply: output '" + header.name() + "': " + reason);
  };
  const std::optional<DataType> dtype = DataTypeFromName(header.datatype());
  if (!dtype.has_value()) {
    return refuse("datatype '" + header.datatype() + "' is not one of kernelwire's");
  }
  std::vector<std::int64_t> shape(header.shape().begin(), header.shape().end());
  std::uint64_t size = 0;
  for (const Chunk& chunk : chunks) {
    size += chunk.size;
  }
  const std::optional<std::int64_t> count = ElementCount(shape);
  if (!count.has_value() || size % SizeOf(*dtype) != 0 || size / SizeOf(*dtype) != static_cast<std::uint64_t>(*count)) {
    return refuse("shape " + ShapeText(shape) + " of " + header.datatype() + " does not fit its " +
                  std::to_string(size) + " bytes");
  }
  return OutputTensor(header.name(), *dtype, std::move(shape), std::move(chunks), memory);
}

}  // namespace

Result<InferReply> DecodeInferReply(const grpc::ByteBuffer& message) {
  const auto slices = std::make_shared<std::vector<grpc::Slice>>();
  Fields fields;
  inference::ModelInferResponse header;
  if (!message.Dump(slices.get()).ok() || !Split(SliceReader(*slices), &fields) ||
      !header.ParseFromString(fields.others)) {
    return Status(StatusCode::kInternal, "reply: not a ModelInferResponse");
  }
  if (fields.payloads.size() != static_cast<std::size_t>(header.outputs_size())) {
    return Status(StatusCode::kUnimplemented, "reply: " + std::to_string(header.outputs_size()) + " outputs with " +
                                                  std::to_string(fields.payloads.size()) +
                                                  " raw payloads; this client reads raw_output_contents only");
  }
  InferReply reply{header.model_name(), header.model_version(), header.id(), {}};
  for (int i = 0; i < header.outputs_size(); ++i) {
    Result<OutputTensor> output =
        MakeOutput(header.outputs(i), std::move(fields.payloads[static_cast<std::size_t>(i)]), slices);
    if (!output.ok()) {
      return output.status();
    }
    reply.outputs.push_back(*std::move(output));
  }
  return reply;
}

}  // namespace kernelwire::client
