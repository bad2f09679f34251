#include "server/option_values.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace kernelwire {
namespace {

struct Unit {
  const char* suffix;
  int shift;
};
constexpr Unit kUnits[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};

std::string Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

}  // namespace

bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error) {
  int shift = 0;
  absl::string_view digits = text;
  for (const Unit& unit : kUnits) {
    if (absl::ConsumeSuffix(&digits, unit.suffix)) {
      shift = unit.shift;
      break;
    }
  }
  const bool only_digits = !digits.empty() && digits.find_first_not_of("0123456789") == absl::string_view::npos;
  std::int64_t number = 0;
  if (!only_digits || !absl::SimpleAtoi(digits, &number) || number > (INT64_MAX >> shift)) {
    *error = "expected a whole number of bytes, or one with KiB, MiB or GiB";
    return false;
  }
  size->bytes = number << shift;
  return true;
}

std::string AbslUnparseFlag(ByteSize size) {
  for (const Unit& unit : kUnits) {
    if (size.bytes != 0 && size.bytes % (std::int64_t{1} << unit.shift) == 0) {
      return absl::StrCat(size.bytes >> unit.shift, unit.suffix);
    }
  }
  return absl::StrCat(size.bytes);
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> entries;
  if (Trimmed(text).empty()) {
    return entries;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    entries.push_back(Trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return entries;
}

absl::StatusOr<std::vector<int>> ParseOrdinals(std::string_view text) {
  std::vector<int> ordinals;
  for (const std::string& entry : SplitList(text)) {
    int ordinal = -1;
    if (!absl::SimpleAtoi(entry, &ordinal) || ordinal < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected GPU numbers from 0 on, separated by commas, got \"", entry, "\""));
    }
    if (std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end()) {
      return absl::InvalidArgumentError(absl::StrCat("expected each GPU once, got ", ordinal, " twice"));
    }
    ordinals.push_back(ordinal);
  }
  return ordinals;
}

absl::StatusOr<std::vector<std::pair<std::string, absl::Duration>>> ParseDelays(std::string_view text) {
  std::vector<std::pair<std::string, absl::Duration>> delays;
  for (const std::string& entry : SplitList(text)) {
    const std::size_t equals = entry.find('=');
    absl::Duration delay;
    if (equals == std::string::npos || equals == 0 || !absl::ParseDuration(entry.substr(equals + 1), &delay)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected model=duration, separated by commas (\"softmax=200us\"), got \"", entry, "\""));
    }
    std::string model = entry.substr(0, equals);
    for (const auto& [known, unused] : delays) {
      if (known == model) {
        return absl::InvalidArgumentError(absl::StrCat("expected each model once, got \"", model, "\" twice"));
      }
    }
    delays.emplace_back(std::move(model), delay);
  }
  return delays;
}

}  // namespace kernelwire
