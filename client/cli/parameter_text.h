// NAME=VALUE on the command line, and attributes in that form.
#ifndef KERNELWIRE_CLIENT_CLI_PARAMETER_TEXT_H_
#define KERNELWIRE_CLIENT_CLI_PARAMETER_TEXT_H_

#include <optional>
#include <string>
#include <utility>

#include "client/cli/arguments.h"
#include "kernelwire/infer.h"
#include "kernelwire/status.h"

namespace kernelwire::cli {

/// Before and after the first '='; nullopt without one, or with nothing on either side.
std::optional<std::pair<std::string, std::string>> SplitNamed(const std::string& text);

/// Whole numbers, numbers, true and false as such; everything else is text: "0,2", "gaussian".
client::ParameterValue ParameterFromText(const std::string& text);

/// --attribute NAME=VALUE, for a command's table of options.
Option AttributeOption();
/// Puts them into the request. Errors: INVALID_ARGUMENT for one that is not NAME=VALUE.
client::Status AddAttributes(const Arguments& arguments, client::InferRequest* request);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_PARAMETER_TEXT_H_
