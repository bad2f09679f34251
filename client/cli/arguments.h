// The command line of one sub-command: options declared in a table, values checked when they are read, help printed
// from the same table.
#ifndef KERNELWIRE_CLIENT_CLI_ARGUMENTS_H_
#define KERNELWIRE_CLIENT_CLI_ARGUMENTS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernelwire/status.h"

namespace kernelwire::cli {

enum class OptionKind : std::uint8_t {
  kSwitch,    // given or not
  kText,      //
  kInteger,   // >= 1
  kNumber,    // finite
  kDuration,  // "250ms": a number and one of us, ms, s, m
};

/// One option, written `--name VALUE` or `--name=VALUE`; `-` and `_` in a name are the same. Given twice, the last one
/// counts, except for repeated options.
struct Option {
  std::string name;
  OptionKind kind = OptionKind::kText;
  std::string placeholder;     // what the help calls the value: "N"
  std::string help;            // one sentence
  std::string default_text{};  // empty: none; otherwise read as if it had been given
  bool repeated = false;
};

/// Options and operands as they were given. Requires of the getters: the option is in the table, with that kind, and
/// Has it; texts that were given are known to be readable.
class Arguments {
 public:
  /// Errors: INVALID_ARGUMENT naming the option, what was expected and what came. `--` ends the options.
  static client::Result<Arguments> Parse(const std::vector<Option>& options, const std::vector<std::string>& words);

  const std::vector<std::string>& operands() const { return operands_; }
  bool Has(const std::string& name) const { return values_.count(name) != 0; }
  const std::string& Text(const std::string& name) const { return values_.at(name).back(); }
  /// Empty when the option was not given.
  std::vector<std::string> All(const std::string& name) const;
  std::int64_t Integer(const std::string& name) const;
  double Number(const std::string& name) const;
  std::chrono::nanoseconds Duration(const std::string& name) const;

 private:
  std::vector<std::string> operands_;
  std::map<std::string, std::vector<std::string>> values_;  // by the option's own spelling; none of them empty
};

/// The options as a help text, a paragraph each.
std::string OptionsHelp(const std::vector<Option>& options);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_ARGUMENTS_H_
