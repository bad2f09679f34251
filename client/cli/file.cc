#include "client/cli/file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace kernelwire::cli {

using client::Status;
using client::StatusCode;

client::Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status(StatusCode::kNotFound, path + ": " + std::strerror(errno));
  }
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad() || content.fail()) {
    // An empty file sets the fail bit of the stream that received nothing, and is no error.
    if (file.bad() || file.peek() != std::ifstream::traits_type::eof()) {
      return Status(StatusCode::kUnknown, path + ": reading failed");
    }
  }
  return content.str();
}

Status WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) {
    return Status(StatusCode::kNotFound, path + ": " + std::strerror(errno));
  }
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return file ? Status() : Status(StatusCode::kUnknown, path + ": writing failed");
}

}  // namespace kernelwire::cli
