#include "kernelwire/status.h"

#include <array>
#include <cstddef>

namespace kernelwire::client {

std::string NameOf(StatusCode code) {
  static constexpr std::array<const char*, 17> kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const int number = static_cast<int>(code);
  if (number < 0 || static_cast<std::size_t>(number) >= kNames.size()) {
    return "CODE " + std::to_string(number);
  }
  return kNames[static_cast<std::size_t>(number)];
}

std::string Status::ToString() const { return ok() ? "OK" : NameOf(code_) + ": " + message_; }

}  // namespace kernelwire::client
