// kernelwire: a server's operators from the command line.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "client/cli/arguments.h"
#include "client/cli/command.h"
#include "kernelwire/client.h"

namespace kernelwire::cli {
namespace {

std::vector<Command> AllCommands() {
  return {RunCommand(), DetectCommand(), OperatorsCommand(), DescribeCommand(), HealthCommand(), BenchCommand()};
}

void PrintHelp(std::ostream& out) {
  out << "Usage: kernelwire COMMAND [OPERAND] [OPTION]...\n\n"
         "Runs, inspects and measures the operators of a kernelwire server.\n\nCommands:\n";
  for (const Command& command : AllCommands()) {
    std::string left = "  " + command.name + (command.operand.empty() ? "" : " " + command.operand);
    left.resize(std::max<std::size_t>(left.size() + 2, 22), ' ');
    out << left << command.summary << ".\n";
  }
  out << "\nOptions of every command:\n"
      << OptionsHelp(CommonOptions())
      << "\n`kernelwire COMMAND --help` has the rest. Exit status: 0 done, 1 failed, 2 wrong usage.\n\n"
         "Examples:\n"
         "  kernelwire health --address gpu-node:8001\n"
         "  kernelwire describe softmax\n"
         "  kernelwire run softmax --input x=logits.npy --output y=probabilities.npy --attribute axis=-1\n"
         "  kernelwire detect detections.json --iou_threshold 0.7 --svg kept.svg\n"
         "  kernelwire bench rms_norm --shape 64,4096 --dtype BF16 --outstanding 64\n";
}

void PrintCommandHelp(const Command& command, const std::vector<Option>& options) {
  std::cout << "Usage: kernelwire " << command.name << (command.operand.empty() ? "" : " " + command.operand)
            << " [OPTION]...\n\n"
            << command.help << "\nOptions:\n"
            << OptionsHelp(options);
}

int Dispatch(const Command& command, const std::vector<std::string>& words) {
  std::vector<Option> options = command.options;
  for (const Option& option : CommonOptions()) {
    options.push_back(option);
  }
  const std::string hint = "\nTry: kernelwire " + command.name + " --help";
  const auto arguments = Arguments::Parse(options, words);
  if (!arguments.ok()) {
    return FailUsage(arguments.status().message() + hint);
  }
  if (arguments->Has("help")) {
    PrintCommandHelp(command, options);
    return kExitOk;
  }
  const std::size_t wanted = command.operand.empty() ? 0 : 1;
  if (arguments->operands().size() != wanted) {
    const std::string expected = wanted == 0 ? "no operand" : "one " + command.operand;
    return FailUsage(command.name + ": expected " + expected + ", got " + std::to_string(arguments->operands().size()) +
                     hint);
  }
  return command.run(*arguments);
}

int Main(std::vector<std::string> words) {
  // Options may come before the command; those that can all take a value.
  std::size_t at = 0;
  while (at < words.size() && words[at].rfind("--", 0) == 0 && words[at] != "--help" && words[at] != "--version") {
    at += words[at].find('=') == std::string::npos ? 2 : 1;
  }
  if (at >= words.size()) {
    PrintHelp(std::cerr);
    return kExitUsage;
  }
  const std::string name = words[at];
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  if (name == "--help" || name == "help") {
    PrintHelp(std::cout);
    return kExitOk;
  }
  if (name == "--version") {
    std::cout << "kernelwire " << client::Version() << '\n';
    return kExitOk;
  }
  for (const Command& command : AllCommands()) {
    if (command.name == name) {
      return Dispatch(command, words);
    }
  }
  return FailUsage("no command '" + name + "'\nTry: kernelwire --help");
}

}  // namespace
}  // namespace kernelwire::cli

int main(int argc, char** argv) { return kernelwire::cli::Main(std::vector<std::string>(argv + 1, argv + argc)); }
