#include "client/cli/number_text.h"

#include <cmath>
#include <utility>

namespace kernelwire::cli {

std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  // Longer names first: "5ms" ends in "s" too.
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
  for (const auto& [unit, nanoseconds] : kUnits) {
    if (text.size() <= unit.size() || text.substr(text.size() - unit.size()) != unit) {
      continue;
    }
    const std::optional<double> number = ParseNumber<double>(text.substr(0, text.size() - unit.size()));
    if (number.has_value()) {
      const double total = *number * nanoseconds;
      if (!(total >= 0 && total < 9e18)) {
        return std::nullopt;
      }
      return std::chrono::nanoseconds(std::llround(total));
    }
  }
  return std::nullopt;
}

}  // namespace kernelwire::cli
