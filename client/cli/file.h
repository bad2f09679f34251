// Whole files, in and out.
#ifndef KERNELWIRE_CLIENT_CLI_FILE_H_
#define KERNELWIRE_CLIENT_CLI_FILE_H_

#include <string>

#include "kernelwire/status.h"

namespace kernelwire::cli {

/// Errors: NOT_FOUND when the file cannot be opened, UNKNOWN when reading or writing fails; the message has the name.
client::Result<std::string> ReadFile(const std::string& path);
client::Status WriteFile(const std::string& path, const std::string& content);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_FILE_H_
