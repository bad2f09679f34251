#include "client/cli/arguments.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "client/cli/number_text.h"

namespace kernelwire::cli {
namespace {

using client::Status;
using client::StatusCode;

Status UsageError(const std::string& message) { return Status(StatusCode::kInvalidArgument, message); }

const Option* FindOption(const std::vector<Option>& options, std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  const auto found =
      std::find_if(options.begin(), options.end(), [&name](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

// What a value of this kind must be, or empty if `value` is one.
std::string Complaint(OptionKind kind, const std::string& value) {
  if (kind == OptionKind::kInteger && ParseNumber<std::int64_t>(value).value_or(0) < 1) {
    return "a whole number >= 1";
  }
  if (kind == OptionKind::kNumber && !std::isfinite(ParseNumber<double>(value).value_or(NAN))) {
    return "a number";
  }
  if (kind == OptionKind::kDuration && !ParseDuration(value).has_value()) {
    return "a number and a unit (us, ms, s or m), such as 250ms";
  }
  return "";
}

// The value, if it is one of this kind. Errors: INVALID_ARGUMENT, as below.
client::Result<std::string> Checked(const Option& option, const std::string& value) {
  if (const std::string expected = Complaint(option.kind, value); !expected.empty()) {
    return UsageError("expected " + expected + ", got '" + value + "'");
  }
  return value;
}

// Of "--name=value".
client::Result<std::string> ValueWithin(const Option& option, const std::string& value) {
  return option.kind == OptionKind::kSwitch ? UsageError("takes no value, got '" + value + "'")
                                            : Checked(option, value);
}

// Of "--name value", whose name stands at `*at`; moves on to the value if there is to be one.
client::Result<std::string> ValueAfter(const Option& option, const std::vector<std::string>& words, std::size_t* at) {
  if (option.kind == OptionKind::kSwitch) {
    return std::string();
  }
  if (++*at == words.size()) {
    return UsageError("expected " + option.placeholder + " after it, got nothing");
  }
  return Checked(option, words[*at]);
}

}  // namespace

client::Result<Arguments> Arguments::Parse(const std::vector<Option>& options, const std::vector<std::string>& words) {
  Arguments arguments;
  bool options_ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options_ended || word.rfind("--", 0) != 0) {
      arguments.operands_.push_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const Option* option = FindOption(options, name);
    if (option == nullptr) {
      return UsageError("--" + name + ": no such option");
    }
    client::Result<std::string> value =
        equals == std::string::npos ? ValueAfter(*option, words, &i) : ValueWithin(*option, word.substr(equals + 1));
    if (!value.ok()) {
      return UsageError("--" + name + ": " + value.status().message());
    }
    arguments.values_[option->name].push_back(*std::move(value));
  }
  for (const Option& option : options) {
    if (!option.default_text.empty() && !arguments.Has(option.name)) {
      arguments.values_[option.name].push_back(option.default_text);
    }
  }
  return arguments;
}

std::vector<std::string> Arguments::All(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::int64_t Arguments::Integer(const std::string& name) const { return *ParseNumber<std::int64_t>(Text(name)); }

double Arguments::Number(const std::string& name) const { return *ParseNumber<double>(Text(name)); }

std::chrono::nanoseconds Arguments::Duration(const std::string& name) const { return *ParseDuration(Text(name)); }

std::string OptionsHelp(const std::vector<Option>& options) {
  constexpr std::size_t kTextColumn = 28;
  std::string help;
  for (const Option& option : options) {
    std::string left = "  --" + option.name;
    if (option.kind != OptionKind::kSwitch) {
      left += " " + option.placeholder;
    }
    if (left.size() + 2 > kTextColumn) {
      left += "\n" + std::string(kTextColumn, ' ');
    } else {
      left.resize(kTextColumn, ' ');
    }
    help += left + option.help;
    if (option.repeated) {
      help += " May be repeated.";
    }
    if (!option.default_text.empty()) {
      help += " Default: " + option.default_text + ".";
    }
    help += "\n";
  }
  return help;
}

}  // namespace kernelwire::cli
