#include "server/codec/request_fields.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/core/status_macros.h"

namespace kernelwire {
namespace {

// Field numbers of ModelInferRequest and of its InferInputTensor (open_inference.proto).
constexpr std::uint32_t kRequestInputs = 5;
constexpr std::uint32_t kRequestOutputs = 6;
constexpr std::uint32_t kRequestPayloads = 7;
constexpr std::uint32_t kInputShape = 3;
constexpr std::uint32_t kInputContents = 5;

constexpr const char* kRequestFieldNames[] = {"",           "model_name", "model_version", "id",
                                              "parameters", "inputs",     "outputs",       "raw_input_contents"};
constexpr const char* kInputFieldNames[] = {
    "", "inputs.name", "inputs.datatype", "inputs.shape", "inputs.parameters", "inputs.contents"};

class FieldFinder {
 public:
  FieldFinder(const std::vector<grpc::Slice>& slices, RequestFields* fields)
      : slices_(slices), reader_(slices), total_(reader_.remaining()), fields_(fields) {}

  absl::Status FindAll() {
    while (reader_.remaining() > 0) {
      std::uint32_t field = 0;
      WireType type{};
      if (!reader_.ReadTag(&field, &type)) {
        return Malformed(reader_, "a tag that is cut short or invalid");
      }
      if (field > kRequestPayloads) {
        KERNELWIRE_RETURN_IF_ERROR(SkipUnknown(reader_, type));
        continue;
      }
      std::size_t length = 0;
      KERNELWIRE_RETURN_IF_ERROR(ReadLength(reader_, kRequestFieldNames[field], type, &length));
      KERNELWIRE_RETURN_IF_ERROR(TakeField(field, length));
    }
    return absl::OkStatus();
  }

 private:
  /// "message: expected a ModelInferRequest, got WHAT near byte N".
  absl::Status Malformed(const SliceReader& reader, absl::string_view what) const {
    // A reader over one input ends where the outer one already stands.
    const std::size_t after = &reader == &reader_ ? 0 : reader_.remaining();
    return absl::InvalidArgumentError(absl::StrCat("message: expected a ModelInferRequest, got ", what, " near byte ",
                                                   total_ - after - reader.remaining()));
  }

  absl::Status SkipUnknown(SliceReader& reader, WireType type) const {
    if (!reader.SkipValue(type)) {
      return Malformed(reader, absl::StrCat("an unknown field of wire type ", static_cast<int>(type),
                                            " that is cut short or of no proto3 kind"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadLength(SliceReader& reader, const char* name, WireType type, std::size_t* length) const {
    if (type != WireType::kLength) {
      return Malformed(reader, absl::StrCat(name, " with wire type ", static_cast<int>(type), " instead of 2"));
    }
    if (!reader.ReadLength(length)) {
      return Malformed(reader, absl::StrCat(name, " with a length beyond the end"));
    }
    return absl::OkStatus();
  }

  absl::Status TakeField(std::uint32_t field, std::size_t length) {
    ByteRange value;
    switch (field) {
      case kRequestPayloads:
        reader_.TakeRange(length, &value);
        if (fields_->payload_count++ < fields_->payloads.size()) {
          fields_->payloads[fields_->payload_count - 1] = value;
        }
        return absl::OkStatus();
      case kRequestInputs:
        reader_.TakeRange(length, &value);
        return fields_->input_count++ < kMaxInputs ? TakeInput(value) : absl::OkStatus();
      case kRequestOutputs:
        if (fields_->output_count++ >= kMaxOutputs) {
          reader_.Skip(length);
          return absl::OkStatus();
        }
        break;
      default:
        break;
    }
    return Keep(reader_, field, length);
  }

  /// Copies an input into the header, all but its contents.
  absl::Status TakeInput(const ByteRange& input) {
    KERNELWIRE_RETURN_IF_ERROR(Reserve(0));
    std::string& header = fields_->header;
    const std::size_t begin = header.size();
    AppendTag(kRequestInputs, WireType::kLength);
    // The length is known only at the end: three bytes hold any length that a header may have. A varint may be longer
    // than it need be.
    const std::size_t length_at = header.size();
    header.append(3, '\0');
    const absl::Status taken = TakeInputFields(input);
    if (!taken.ok()) {
      header.resize(begin);  // half an input would not parse, and with it nothing that came before
      return taken;
    }
    const std::size_t length = header.size() - length_at - 3;
    header[length_at] = static_cast<char>(0x80u | (length & 0x7fu));
    header[length_at + 1] = static_cast<char>(0x80u | ((length >> 7) & 0x7fu));
    header[length_at + 2] = static_cast<char>(length >> 14);
    return absl::OkStatus();
  }

  absl::Status TakeInputFields(const ByteRange& input) {
    SliceReader reader(slices_, input);
    while (reader.remaining() > 0) {
      KERNELWIRE_RETURN_IF_ERROR(TakeInputField(reader));
    }
    return absl::OkStatus();
  }

  absl::Status TakeInputField(SliceReader& reader) {
    std::uint32_t field = 0;
    WireType type{};
    if (!reader.ReadTag(&field, &type)) {
      return Malformed(reader, "a tag in inputs that is cut short or invalid");
    }
    if (field > kInputContents) {
      return SkipUnknown(reader, type);
    }
    if (field == kInputShape && type == WireType::kVarint) {
      return KeepExtent(reader);
    }
    std::size_t length = 0;
    KERNELWIRE_RETURN_IF_ERROR(ReadLength(reader, kInputFieldNames[field], type, &length));
    return field == kInputContents ? TakeContents(reader, length) : Keep(reader, field, length);
  }

  absl::Status TakeContents(SliceReader& reader, std::size_t length) {
    RequestFields::Contents& contents = fields_->contents[fields_->input_count - 1];
    if (contents.present) {
      return Malformed(reader, "inputs.contents twice in one input");
    }
    contents.present = true;
    reader.TakeRange(length, &contents.range);
    return absl::OkStatus();
  }

  /// Copies a field whose tag and length have been read.
  absl::Status Keep(SliceReader& reader, std::uint32_t field, std::size_t length) {
    KERNELWIRE_RETURN_IF_ERROR(Reserve(length));
    std::string& header = fields_->header;
    AppendTag(field, WireType::kLength);
    AppendVarint(length);
    const std::size_t value_at = header.size();
    header.resize(value_at + length);
    reader.ReadBytes(&header[value_at], length);
    return absl::OkStatus();
  }

  /// One extent of a shape that is not packed.
  absl::Status KeepExtent(SliceReader& reader) {
    std::uint64_t extent = 0;
    if (!reader.ReadVarint(&extent)) {
      return Malformed(reader, "inputs.shape cut short");
    }
    KERNELWIRE_RETURN_IF_ERROR(Reserve(0));
    AppendTag(kInputShape, WireType::kVarint);
    AppendVarint(extent);
    return absl::OkStatus();
  }

  /// Room in the header for `length` bytes and what goes in front of them.
  absl::Status Reserve(std::size_t length) const {
    constexpr std::size_t kLongestPrefix = 11;
    if (length > kMaxHeaderBytes || fields_->header.size() + kLongestPrefix + length > kMaxHeaderBytes) {
      return absl::InvalidArgumentError(absl::StrCat("message: expected names, shapes and parameters of at most ",
                                                     kMaxHeaderBytes, " bytes in all, got more (the message has ",
                                                     total_, " bytes)"));
    }
    return absl::OkStatus();
  }

  void AppendTag(std::uint32_t field, WireType type) {
    fields_->header.push_back(static_cast<char>(field << 3 | static_cast<std::uint32_t>(type)));  // field < 16
  }

  void AppendVarint(std::uint64_t value) {
    for (; value >= 0x80u; value >>= 7) {
      fields_->header.push_back(static_cast<char>(0x80u | (value & 0x7fu)));
    }
    fields_->header.push_back(static_cast<char>(value));
  }

  const std::vector<grpc::Slice>& slices_;
  SliceReader reader_;
  const std::size_t total_;
  RequestFields* const fields_;
};

}  // namespace

void RequestFields::Clear() {
  input_count = 0;
  output_count = 0;
  payload_count = 0;
  contents = {};
  header.clear();
}

absl::Status FindRequestFields(const std::vector<grpc::Slice>& slices, RequestFields* fields) {
  return FieldFinder(slices, fields).FindAll();
}

}  // namespace kernelwire
