// How a model's inputs and outputs are written for people.
#ifndef KERNELWIRE_CLIENT_CLI_MODEL_TEXT_H_
#define KERNELWIRE_CLIENT_CLI_MODEL_TEXT_H_

#include <string>

#include "model_config.pb.h"
#include "open_inference.pb.h"

namespace kernelwire::cli {

/// "x, weight?, bias?": a question mark stands for optional.
std::string NamesOf(const google::protobuf::RepeatedPtrField<inference::ModelInput>& inputs);
std::string NamesOf(const google::protobuf::RepeatedPtrField<inference::ModelOutput>& outputs);

/// "[n, 4]"-like: "[-1, 4]"; a lone -1 is any shape, "[...]".
std::string DimsText(const google::protobuf::RepeatedField<std::int64_t>& dims);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_MODEL_TEXT_H_
