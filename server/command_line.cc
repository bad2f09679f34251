#include "server/command_line.h"

#include <cstddef>
#include <optional>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/build_info.h"
#include "server/option_flags.h"

namespace kernelwire {
namespace {

constexpr std::size_t kHelpWidth = 100;

constexpr char kUsage[] =
    R"(kernelwire-server: GPU kernels behind a gRPC port, in the Open Inference Protocol (KServe v2).

Usage: kernelwire-server [flags]             serve until SIGTERM or SIGINT
       kernelwire-server --probe[=address]   ask a server for its health: code 0 when it serves, else 1
       kernelwire-server --help | --version

Examples:
  kernelwire-server
      every GPU, or the host where there is none; gRPC on port 8001, metrics on port 8002
  kernelwire-server --device=host --address=127.0.0.1:8001 --metrics_address=
      the host path, for this machine only
  kernelwire-server --devices=0 --max_message_bytes=256MiB --staging_bytes=2GiB --max_outstanding_bytes=4GiB
      one GPU, large tensors
  kernelwire-server --max_queue_delay=softmax=200us --log_format=json
      trade latency for larger batches of one model; logs for a collector

Sizes are bytes, or take KiB, MiB, GiB; durations take us, ms, s, m, h. In parentheses: the default.
)";

constexpr char kCodes[] = R"(
Exit codes: 0 stopped as asked; 1 the start failed; 2 wrong flags; 70 a GPU failed; 71 a GPU hung; 72 stop forced
            (--drain_timeout ran out, or a second signal). After 70 and 71 a new process is the cure.
)";

std::string Wrapped(absl::string_view text, std::size_t indent) {
  std::string lines;
  std::string line(indent, ' ');
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (line.size() > indent && line.size() + 1 + word.size() > kHelpWidth) {
      absl::StrAppend(&lines, line, "\n");
      line.assign(indent, ' ');
    }
    absl::StrAppend(&line, line.size() > indent ? " " : "", word);
  }
  return absl::StrCat(lines, line, "\n");
}

/// One argument, taken apart.
struct Argument {
  std::string name;
  std::optional<std::string> value;
};

std::optional<Argument> TakeApart(const std::string& text) {
  const std::size_t begin = absl::StartsWith(text, "--") ? 2 : 1;
  if (!absl::StartsWith(text, "-") || text.size() <= begin) {
    return std::nullopt;
  }
  const std::size_t equals = text.find('=');
  Argument argument{text.substr(begin, equals == std::string::npos ? equals : equals - begin), std::nullopt};
  if (equals != std::string::npos) {
    argument.value = text.substr(equals + 1);
  }
  return argument;
}

absl::CommandLineFlag* FindFlag(const std::string& name) {
  // Only flags of the help: libraries may define others, which are no part of our interface.
  for (const FlagSection& section : FlagSections()) {
    for (const char* known : section.flags) {
      if (name == known) {
        return absl::FindCommandLineFlag(name);
      }
    }
  }
  return nullptr;
}

std::string ExpectedBy(const absl::CommandLineFlag& flag) {
  if (flag.IsOfType<bool>()) {
    return "true or false";
  }
  if (flag.IsOfType<absl::Duration>()) {
    return "a duration such as 200us, 5s or 1m";
  }
  if (flag.IsOfType<std::string>()) {
    return "a text";
  }
  return flag.IsOfType<ByteSize>() ? "a size such as 1048576, 64MiB or 1GiB" : "a whole number";
}

/// Walks the arguments, sets flags, and gathers problems.
class Parser {
 public:
  explicit Parser(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  void Run(CommandLine* command_line) {
    while (next_ < arguments_.size()) {
      const std::string& text = arguments_[next_++];
      const std::optional<Argument> argument = TakeApart(text);
      if (!argument.has_value()) {
        problems_.push_back(absl::StrCat("expected flags only, got \"", text, "\""));
      } else if (!TakeMode(*argument, command_line)) {
        SetFlag(*argument);
      }
    }
  }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  bool TakeMode(const Argument& argument, CommandLine* command_line) {
    if (argument.name == "help" || argument.name == "h") {
      command_line->mode = CommandLine::Mode::kHelp;
    } else if (argument.name == "version") {
      command_line->mode = CommandLine::Mode::kVersion;
    } else if (argument.name == "probe") {
      command_line->mode = CommandLine::Mode::kProbe;
      command_line->probe_address = argument.value.value_or("");
      CheckProbed(command_line->probe_address);
    } else {
      return false;
    }
    return true;
  }

  void CheckProbed(const std::string& address) {
    if (!address.empty() && !IsAddress(address)) {
      problems_.push_back(absl::StrCat("--probe: ", kExpectedAddress, ", got \"", address, "\""));
    }
  }

  void SetFlag(const Argument& argument) {
    absl::CommandLineFlag* flag = FindFlag(argument.name);
    std::string value = argument.value.value_or("true");
    if (flag == nullptr && absl::StartsWith(argument.name, "no") && !argument.value.has_value()) {
      flag = FindFlag(argument.name.substr(2));
      flag = flag != nullptr && flag->IsOfType<bool>() ? flag : nullptr;
      value = "false";
    }
    if (flag == nullptr) {
      problems_.push_back(absl::StrCat("--", argument.name, ": unknown flag; --help lists them"));
      return;
    }
    if (!flag->IsOfType<bool>() && !argument.value.has_value()) {
      if (next_ == arguments_.size()) {
        problems_.push_back(absl::StrCat("--", argument.name, ": expected ", ExpectedBy(*flag), ", got nothing"));
        return;
      }
      value = arguments_[next_++];
    }
    std::string unused;
    if (!flag->ParseFrom(value, &unused)) {
      problems_.push_back(absl::StrCat("--", argument.name, ": expected ", ExpectedBy(*flag), ", got \"", value, "\""));
    }
  }

  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  std::vector<std::string> problems_;
};

/// The first address that the server of the same flags would have, as a client on its machine dials it.
std::string ProbeAddress(const std::string& given, const Options& options) {
  const std::string address = given.empty() ? options.rpc.addresses.front() : given;
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  return host == "0.0.0.0" || host == "[::]" ? absl::StrCat("localhost", address.substr(colon)) : address;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine command_line;
  Parser parser(arguments);
  parser.Run(&command_line);
  std::vector<std::string> problems = parser.problems();
  const bool needs_options =
      command_line.mode == CommandLine::Mode::kServe || command_line.mode == CommandLine::Mode::kProbe;
  if (needs_options) {
    absl::StatusOr<Options> options = OptionsFromFlags();
    if (options.ok()) {
      command_line.options = *std::move(options);
    } else {
      problems.emplace_back(options.status().message());
    }
  }
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  }
  if (command_line.mode == CommandLine::Mode::kProbe) {
    command_line.probe_address = ProbeAddress(command_line.probe_address, command_line.options);
  }
  return command_line;
}

std::string HelpText() {
  std::string text = kUsage;
  for (const FlagSection& section : FlagSections()) {
    absl::StrAppend(&text, "\n", section.title, ":\n");
    for (const char* name : section.flags) {
      const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
      const std::string standard = flag->DefaultValue();
      absl::StrAppend(&text, "  --", name, "  (", standard.empty() ? "empty" : standard, ")\n",
                      Wrapped(flag->Help(), 6));
    }
  }
  return absl::StrCat(text, kCodes);
}

std::string VersionText() {
  const BuildInfo build = ThisBuild();
  return absl::StrCat("kernelwire-server ", build.version, "\nCUDA: ", build.cuda, "\ncompiler: ", build.compiler,
                      "\nbuild: ", build.build, "\n");
}

}  // namespace kernelwire
