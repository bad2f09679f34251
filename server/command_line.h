// The command line of the server.
#ifndef KERNELWIRE_SERVER_COMMAND_LINE_H_
#define KERNELWIRE_SERVER_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/options.h"

namespace kernelwire {

struct CommandLine {
  enum class Mode : std::uint8_t { kServe, kProbe, kHelp, kVersion };
  Mode mode = Mode::kServe;
  Options options;            // kServe
  std::string probe_address;  // kProbe: what to dial
};

/// Sets the flags from `arguments` (without the program's name) and reads them. Flags are written --name=value,
/// --name value, --switch or --noswitch, with one dash or two.
/// Errors: INVALID_ARGUMENT with all problems of all flags, one a line.
///
/// Abseil's own parser is not used, since it ends the process at once, with the code 1, and its help shows flags by
/// file.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

/// What --help and --version print.
std::string HelpText();
std::string VersionText();

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_COMMAND_LINE_H_
