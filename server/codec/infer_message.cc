#include "server/codec/infer_message.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/core/quoted.h"
#include "kernels/core/status_macros.h"
#include "server/codec/typed_contents.h"

namespace kernelwire {
namespace {

using InputTensor = inference::ModelInferRequest::InferInputTensor;

/// "x, weight": for messages about a name that is not among them.
std::string NamesOf(const std::vector<TensorSpec>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* text, const TensorSpec& tensor) { *text += tensor.name; });
}

/// `kind` is "input" or "output".
absl::Status UnknownTensor(absl::string_view kind, const std::string& name, const Model& model,
                           const std::vector<TensorSpec>& known) {
  return absl::InvalidArgumentError(absl::StrCat(kind, " ", Quoted(name), ": not known to model '", model.name,
                                                 "', expected one of ", NamesOf(known)));
}

absl::Status GivenTwice(absl::string_view kind, const std::string& name, const std::vector<TensorSpec>& known) {
  return absl::InvalidArgumentError(
      absl::StrCat(kind, " '", name, "': expected once, got it twice; the ", kind, "s are ", NamesOf(known)));
}

absl::Status TooMany(absl::string_view field, std::size_t count, const std::vector<TensorSpec>& known) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": expected at most ", known.size(), " (", NamesOf(known), "), got ", count));
}

/// The element type that an input says it has. UINT8 is what FP8 looks like to clients that do not know it: the input's
/// own parameter says so, or else the request's.
absl::StatusOr<DataType> DataTypeOf(const std::string& name, const InputTensor& input,
                                    std::optional<DataType> request_fp8) {
  const std::optional<DataType> dtype = DataTypeFromName(input.datatype());
  if (!dtype.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", name,
                     "': expected a datatype among BOOL, INT8, UINT8, INT32, INT64, FP16, BF16, FP32, FP64, FP8_E4M3, "
                     "FP8_E5M2, got ",
                     Quoted(input.datatype())));
  }
  KERNELWIRE_ASSIGN_OR_RETURN(const std::optional<DataType> own_fp8, ReadInputParameters(name, input.parameters()));
  if (*dtype == DataType::kUint8) {
    return own_fp8.value_or(request_fp8.value_or(DataType::kUint8));
  }
  const bool says_fp8 = *dtype == DataType::kFp8E4m3 || *dtype == DataType::kFp8E5m2;
  if (says_fp8 && own_fp8.has_value() && *own_fp8 != *dtype) {
    return absl::InvalidArgumentError(absl::StrCat("input '", name, "': expected a parameter 'fp8' that agrees with ",
                                                   NameOf(*dtype), ", got the one of ", NameOf(*own_fp8)));
  }
  return *dtype;
}

absl::StatusOr<Shape> ShapeOf(const std::string& name, const InputTensor& input) {
  Shape shape;
  for (const std::int64_t extent : input.shape()) {
    if (!shape.Append(extent)) {
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "': expected a shape of at most ",
                                                     Shape::kMaxRank, " dimensions, got ", input.shape_size()));
    }
  }
  return shape;
}

}  // namespace

absl::Status InferMessage::Parse(const grpc::ByteBuffer& message) {
  Clear();
  if (message.Valid() && !message.Dump(&slices_).ok()) {
    return absl::InternalError("message: expected slices that can be read, got a buffer that cannot be decompressed");
  }
  const absl::Status found = FindRequestFields(slices_, &fields_);
  // After an error, too: a refusal counts for the model that came before it, and its reply carries the id.
  const bool parsed = header_.ParseFromArray(fields_.header.data(), static_cast<int>(fields_.header.size()));
  if (!parsed) {
    header_.Clear();
  }
  KERNELWIRE_RETURN_IF_ERROR(found);
  return parsed ? absl::OkStatus()
                : absl::InvalidArgumentError(
                      "message: expected a ModelInferRequest, got a field of names, shapes or "
                      "parameters that does not parse");
}

absl::Status InferMessage::Bind(const Catalog& catalog) {
  KERNELWIRE_ASSIGN_OR_RETURN(model_, catalog.Find(header_.model_name(), header_.model_version()));
  KERNELWIRE_ASSIGN_OR_RETURN(parameters_, ReadRequestParameters(header_.parameters(), spec()));
  plan_request_.attributes = &parameters_.attributes;
  KERNELWIRE_RETURN_IF_ERROR(BindInputs());
  KERNELWIRE_RETURN_IF_ERROR(BindOutputs());
  // Types and shapes before sizes: a wrong type makes the size wrong too, and is the better thing to say.
  KERNELWIRE_ASSIGN_OR_RETURN(plan_, PlanRequestFor(*model_->op, plan_request_));
  return BindBytes();
}

absl::Status InferMessage::BindInputs() {
  for (int position = 0; position < header_.inputs_size(); ++position) {
    const InputTensor& input = header_.inputs(position);
    const int index = spec().InputIndex(input.name());
    if (index < 0) {
      return UnknownTensor("input", input.name(), *model_, spec().inputs);
    }
    spec_index_[static_cast<std::size_t>(position)] = static_cast<std::uint8_t>(index);
    KERNELWIRE_RETURN_IF_ERROR(BindInput(input, static_cast<std::size_t>(index)));
  }
  if (fields_.input_count > static_cast<std::size_t>(header_.inputs_size())) {
    return TooMany("inputs", fields_.input_count, spec().inputs);
  }
  return absl::OkStatus();
}

absl::Status InferMessage::BindInput(const InputTensor& input, std::size_t index) {
  const std::string& name = spec().inputs[index].name;
  std::optional<TensorDesc>& desc = plan_request_.inputs[index];
  if (desc.has_value()) {
    return GivenTwice("input", name, spec().inputs);
  }
  KERNELWIRE_ASSIGN_OR_RETURN(const DataType dtype, DataTypeOf(name, input, parameters_.fp8));
  KERNELWIRE_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(name, input));
  desc = TensorDesc{dtype, shape};
  return absl::OkStatus();
}

absl::Status InferMessage::BindOutputs() {
  const std::vector<TensorSpec>& known = spec().outputs;
  for (const auto& output : header_.outputs()) {
    const int index = spec().OutputIndex(output.name());
    if (index < 0) {
      return UnknownTensor("output", output.name(), *model_, known);
    }
    const std::uint32_t bit = 1u << static_cast<unsigned>(index);
    if ((plan_request_.wanted_outputs & bit) != 0) {
      return GivenTwice("output", output.name(), known);
    }
    KERNELWIRE_RETURN_IF_ERROR(CheckOutputParameters(output.name(), output.parameters()));
    plan_request_.wanted_outputs |= bit;
    outputs_[output_count_++] = static_cast<std::uint8_t>(index);
  }
  if (fields_.output_count > output_count_) {
    return TooMany("outputs", fields_.output_count, known);
  }
  for (std::size_t i = 0; header_.outputs_size() == 0 && i < known.size(); ++i) {
    if (!known[i].optional) {
      plan_request_.wanted_outputs |= 1u << i;
      outputs_[output_count_++] = static_cast<std::uint8_t>(i);
    }
  }
  return absl::OkStatus();
}

/// Gives every input its bytes: its own contents, or else the next entry of raw_input_contents.
absl::Status InferMessage::BindBytes() {
  const auto input_count = static_cast<std::size_t>(header_.inputs_size());
  std::size_t wanted = 0;
  for (std::size_t position = 0; position < input_count; ++position) {
    wanted += fields_.contents[position].present ? 0 : 1;
  }
  if (wanted != fields_.payload_count) {
    return absl::InvalidArgumentError(absl::StrCat("raw_input_contents: expected ", wanted,
                                                   " entries, one for each input without contents, got ",
                                                   fields_.payload_count));
  }
  std::size_t next = 0;
  for (std::size_t position = 0; position < input_count; ++position) {
    const std::size_t index = spec_index_[position];
    const RequestFields::Contents& contents = fields_.contents[position];
    KERNELWIRE_RETURN_IF_ERROR(contents.present ? BindTyped(index, contents.range)
                                                : BindRaw(index, fields_.payloads[next++]));
  }
  return absl::OkStatus();
}

absl::Status InferMessage::BindRaw(std::size_t index, const ByteRange& payload) {
  const TensorDesc& desc = *plan_request_.inputs[index];
  const std::size_t expected = *desc.ByteSize();  // counted by the plan already
  if (payload.bytes != expected) {
    return absl::InvalidArgumentError(absl::StrCat("input '", spec().inputs[index].name, "': shape ",
                                                   desc.shape.ToString(), " of ", NameOf(desc.dtype), " needs ",
                                                   expected, " bytes, got ", payload.bytes));
  }
  sources_[index] = {false, expected, payload};
  return absl::OkStatus();
}

absl::Status InferMessage::BindTyped(std::size_t index, const ByteRange& contents) {
  const TensorDesc& desc = *plan_request_.inputs[index];
  const TypedContents typed(slices_, contents, spec().inputs[index].name, desc.dtype);
  KERNELWIRE_RETURN_IF_ERROR(typed.Check(*desc.shape.ElementCount()));
  sources_[index] = {true, *desc.ByteSize(), contents};
  return absl::OkStatus();
}

absl::Status InferMessage::CopyInput(int index, void* destination) const {
  const Source& source = sources_[static_cast<std::size_t>(index)];
  if (source.bytes == 0) {
    return absl::OkStatus();
  }
  if (source.typed) {
    const auto at = static_cast<std::size_t>(index);
    const TypedContents typed(slices_, source.range, spec().inputs[at].name, plan_request_.inputs[at]->dtype);
    return typed.CopyTo(destination);
  }
  SliceReader(slices_, source.range).ReadBytes(destination, source.bytes);
  return absl::OkStatus();
}

bool InferMessage::all_raw() const {
  return std::none_of(sources_.begin(), sources_.end(), [](const Source& source) { return source.typed; });
}

void InferMessage::CopyRaw(int index, std::size_t offset, std::size_t bytes, void* destination) const {
  SliceReader reader(slices_, sources_[static_cast<std::size_t>(index)].range);
  reader.Skip(offset);
  reader.ReadBytes(destination, bytes);
}

void InferMessage::Clear() {
  // Memory that an ordinary request needs again is kept. Of a large header it is not: the objects made of one take many
  // times its size, and every pooled call would keep them.
  constexpr std::size_t kOrdinaryHeaderBytes = 4096;
  constexpr std::size_t kOrdinarySlices = 1024;
  if (fields_.header.capacity() > kOrdinaryHeaderBytes) {
    header_ = inference::ModelInferRequest();
    fields_.header = std::string();
  } else {
    header_.Clear();
  }
  if (slices_.capacity() > kOrdinarySlices) {
    slices_ = std::vector<grpc::Slice>();
  }
  slices_.clear();
  fields_.Clear();
  model_ = nullptr;
  parameters_ = RequestParameters();
  plan_request_ = PlanRequest();
  sources_ = {};
  output_count_ = 0;
}

}  // namespace kernelwire
