#include "server/codec/spec_encoder.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kernelwire {
namespace {

using inference::ModelConfig;
using inference::ModelMetadataResponse;

constexpr char kPlatform[] = "kernelwire";

/// What a stock client can be told: FP8 travels as UINT8.
DataType AdvertisedType(DataType dtype) {
  return dtype == DataType::kFp8E4m3 || dtype == DataType::kFp8E5m2 ? DataType::kUint8 : dtype;
}

inference::DataType ConfigType(DataType dtype) {
  switch (AdvertisedType(dtype)) {
    case DataType::kBool:
      return inference::TYPE_BOOL;
    case DataType::kInt8:
      return inference::TYPE_INT8;
    case DataType::kUint8:
      return inference::TYPE_UINT8;
    case DataType::kInt32:
      return inference::TYPE_INT32;
    case DataType::kInt64:
      return inference::TYPE_INT64;
    case DataType::kFp16:
      return inference::TYPE_FP16;
    case DataType::kBf16:
      return inference::TYPE_BF16;
    case DataType::kFp32:
      return inference::TYPE_FP32;
    case DataType::kFp64:
      return inference::TYPE_FP64;
    default:
      return inference::TYPE_INVALID;
  }
}

void FillMetadata(const TensorSpec& spec, ModelMetadataResponse::TensorMetadata* tensor) {
  tensor->set_name(spec.name);
  tensor->set_datatype(NameOf(AdvertisedType(spec.listed_dtype)));
  for (const std::int64_t extent : spec.dims) {
    tensor->add_shape(extent);
  }
}

/// What all inputs and outputs of a configuration have.
template <typename Tensor>
Tensor* FillConfig(const TensorSpec& spec, Tensor* tensor) {
  tensor->set_name(spec.name);
  tensor->set_data_type(ConfigType(spec.listed_dtype));
  for (const std::int64_t extent : spec.dims) {
    tensor->add_dims(extent);
  }
  return tensor;
}

/// "one of auto, safe, online; default auto. How the maximum is found."
std::string DescribeAttribute(const AttributeSpec& spec) {
  std::string kind;
  switch (spec.kind) {
    case AttributeKind::kBool:
      kind = "a boolean";
      break;
    case AttributeKind::kInt:
      kind = "an integer";
      break;
    case AttributeKind::kDouble:
      kind = "a number";
      break;
    case AttributeKind::kEnum:
    case AttributeKind::kTypeName:
      kind = absl::StrCat("one of ", absl::StrJoin(spec.choices, ", "));
      break;
    case AttributeKind::kIntList:
      kind = "integers separated by commas";
      break;
    case AttributeKind::kDoubleList:
      kind = "numbers separated by commas";
      break;
    case AttributeKind::kIntOrChoice:
      kind = absl::StrCat("an integer or one of ", absl::StrJoin(spec.choices, ", "));
      break;
  }
  return absl::StrCat(kind, "; default ", spec.default_text, ". ", spec.doc);
}

}  // namespace

ModelMetadataResponse EncodeMetadata(const Model& model) {
  ModelMetadataResponse metadata;
  metadata.set_name(model.name);
  metadata.add_versions(model.version);
  metadata.set_platform(kPlatform);
  for (const TensorSpec& input : model.op->spec.inputs) {
    FillMetadata(input, metadata.add_inputs());
  }
  for (const TensorSpec& output : model.op->spec.outputs) {
    FillMetadata(output, metadata.add_outputs());
  }
  return metadata;
}

ModelConfig EncodeConfig(const Model& model) {
  ModelConfig config;
  config.set_name(model.name);
  config.set_platform(kPlatform);
  config.set_backend(kPlatform);
  config.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  config.set_max_batch_size(0);
  for (const TensorSpec& input : model.op->spec.inputs) {
    FillConfig(input, config.add_input())->set_optional(input.optional);
  }
  for (const TensorSpec& output : model.op->spec.outputs) {
    FillConfig(output, config.add_output());
  }
  // Clients look at its presence to tell how requests share the device, and this is how.
  config.mutable_dynamic_batching()->set_max_queue_delay_microseconds(0);
  for (const AttributeSpec& attribute : model.op->spec.attributes) {
    (*config.mutable_parameters())[attribute.name].set_string_value(DescribeAttribute(attribute));
  }
  return config;
}

}  // namespace kernelwire
