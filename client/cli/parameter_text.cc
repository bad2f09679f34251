#include "client/cli/parameter_text.h"

#include <cmath>

#include "client/cli/number_text.h"

namespace kernelwire::cli {

std::optional<std::pair<std::string, std::string>> SplitNamed(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

client::ParameterValue ParameterFromText(const std::string& text) {
  if (text == "true" || text == "false") {
    return text == "true";
  }
  if (const auto whole = ParseNumber<std::int64_t>(text)) {
    return *whole;
  }
  if (const auto number = ParseNumber<double>(text); number.has_value() && std::isfinite(*number)) {
    return *number;
  }
  return text;
}

Option AttributeOption() {
  return {"attribute", OptionKind::kText, "NAME=VALUE", "An attribute of the operator.", "", true};
}

client::Status AddAttributes(const Arguments& arguments, client::InferRequest* request) {
  for (const std::string& text : arguments.All("attribute")) {
    const auto named = SplitNamed(text);
    if (!named.has_value()) {
      return client::Status(client::StatusCode::kInvalidArgument,
                            "--attribute: expected NAME=VALUE, got '" + text + "'");
    }
    request->parameters.emplace_back(named->first, ParameterFromText(named->second));
  }
  return client::Status();
}

}  // namespace kernelwire::cli
