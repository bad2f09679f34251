// The sub-commands, and what they share.
#ifndef KERNELWIRE_CLIENT_CLI_COMMAND_H_
#define KERNELWIRE_CLIENT_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "client/cli/arguments.h"
#include "kernelwire/client.h"
#include "kernelwire/status.h"

namespace kernelwire::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // the server, a file or the network said no
inline constexpr int kExitUsage = 2;   // the command line makes no sense

struct Command {
  std::string name;
  std::string operand;  // what the help calls the one operand ("OPERATOR"); empty for none
  std::string summary;  // half a sentence for the list of commands
  std::string help;     // paragraphs after the usage line, and examples
  std::vector<Option> options;
  int (*run)(const Arguments&);  // returns one of the exit codes, after printing why
};

Command RunCommand();
Command DetectCommand();
Command OperatorsCommand();
Command DescribeCommand();
Command HealthCommand();
Command BenchCommand();

/// The options that every command has: --address, --timeout, --help.
std::vector<Option> CommonOptions();

/// A client of the server that --address names.
client::Client ConnectTo(const Arguments& arguments, int connections = 1);
/// --timeout.
client::Timeout TimeoutOf(const Arguments& arguments);

/// Print `kernelwire: WHAT` to standard error, and return the exit code.
int Fail(const client::Status& status);
int FailUsage(const std::string& message);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_COMMAND_H_
