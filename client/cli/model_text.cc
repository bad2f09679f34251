#include "client/cli/model_text.h"

#include <vector>

#include "kernelwire/tensor.h"

namespace kernelwire::cli {

std::string NamesOf(const google::protobuf::RepeatedPtrField<inference::ModelInput>& inputs) {
  std::string text;
  for (const inference::ModelInput& input : inputs) {
    text += (text.empty() ? "" : ", ") + input.name() + (input.optional() ? "?" : "");
  }
  return text;
}

std::string NamesOf(const google::protobuf::RepeatedPtrField<inference::ModelOutput>& outputs) {
  std::string text;
  for (const inference::ModelOutput& output : outputs) {
    text += (text.empty() ? "" : ", ") + output.name();
  }
  return text;
}

std::string DimsText(const google::protobuf::RepeatedField<std::int64_t>& dims) {
  if (dims.size() == 1 && dims[0] == -1) {
    return "[...]";
  }
  return client::ShapeText(std::vector<std::int64_t>(dims.begin(), dims.end()));
}

}  // namespace kernelwire::cli
