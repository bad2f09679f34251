// Numbers read from text, whole or not at all.
#ifndef KERNELWIRE_CLIENT_CLI_NUMBER_TEXT_H_
#define KERNELWIRE_CLIENT_CLI_NUMBER_TEXT_H_

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kernelwire::cli {

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const std::from_chars_result parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

/// "250ms": a number >= 0 and one of us, ms, s, m.
std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_NUMBER_TEXT_H_
