#include "kernels/core/attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/core/quoted.h"

namespace kernelwire {
namespace {

std::string Describe(const AttributeValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) {
    return absl::StrCat("the boolean ", *flag ? "true" : "false");
  }
  if (const std::int64_t* number = std::get_if<std::int64_t>(&value)) {
    return absl::StrCat("the integer ", *number);
  }
  if (const double* number = std::get_if<double>(&value)) {
    return absl::StrCat("the number ", *number);
  }
  return absl::StrCat("the string ", Quoted(std::get<std::string>(value)));
}

/// "", " of at least 1", " greater than 0", " within [0, 5]": what a number's range adds to what is expected.
std::string DescribeRange(const AttributeSpec& spec) {
  const AttributeSpec unlimited;
  const bool has_min = spec.min > unlimited.min;
  const bool has_max = spec.max < unlimited.max;
  if (has_min && has_max) {
    return absl::StrCat(" within ", spec.min_exclusive ? "(" : "[", spec.min, ", ", spec.max, "]");
  }
  if (has_min) {
    return absl::StrCat(spec.min_exclusive ? " greater than " : " of at least ", spec.min);
  }
  return has_max ? absl::StrCat(" of at most ", spec.max) : "";
}

std::string DescribeExpected(const AttributeSpec& spec) {
  switch (spec.kind) {
    case AttributeKind::kBool:
      return "a boolean";
    case AttributeKind::kInt:
      return absl::StrCat("an integer", DescribeRange(spec));
    case AttributeKind::kDouble:
      return absl::StrCat("a number", DescribeRange(spec), " that is finite in FP32");
    case AttributeKind::kEnum:
    case AttributeKind::kTypeName:
      return absl::StrCat("one of ", absl::StrJoin(spec.choices, ", "));
    case AttributeKind::kIntList:
      return absl::StrCat("a string of different integers", DescribeRange(spec), ", separated by commas");
    case AttributeKind::kDoubleList:
      return absl::StrCat("a string of ", spec.length > 0 ? absl::StrCat(spec.length, " ") : "", "numbers",
                          DescribeRange(spec), " that are finite in FP32, separated by commas");
    case AttributeKind::kIntOrChoice:
      return absl::StrCat("an integer", DescribeRange(spec), " or one of ", absl::StrJoin(spec.choices, ", "));
  }
  return "nothing";
}

absl::Status Mismatch(const AttributeSpec& spec, const AttributeValue& given) {
  return absl::InvalidArgumentError(
      absl::StrCat("attribute '", spec.name, "': expected ", DescribeExpected(spec), ", got ", Describe(given)));
}

bool InRange(const AttributeSpec& spec, double value) {
  return value <= spec.max && (spec.min_exclusive ? value > spec.min : value >= spec.min);
}

/// Kernels compute with the value in f32, so what holds of a number must still hold once it is narrowed: finite, and
/// beyond an exclusive bound (a positive sigma must not become 0).
bool AcceptableDouble(const AttributeSpec& spec, double value) {
  constexpr double kRoundsToInfinity = 0x1.ffffffp127;  // halfway from the largest f32 to the next power of two
  if (!(std::abs(value) < kRoundsToInfinity) || !InRange(spec, value)) {
    return false;
  }
  return !spec.min_exclusive || static_cast<double>(static_cast<float>(value)) > spec.min;
}

/// An integer compares with the bounds as a double: they are small, and conversion keeps the order.
bool AcceptableInt(const AttributeSpec& spec, std::int64_t value) { return InRange(spec, static_cast<double>(value)); }

bool IsChoice(const AttributeSpec& spec, const std::string& text) {
  return std::find(spec.choices.begin(), spec.choices.end(), text) != spec.choices.end();
}

/// The numbers of "0, 2"; nullopt when an entry is not wholly a number. Blanks around an entry are let pass.
template <typename Number>
std::optional<std::vector<Number>> ParseNumbers(std::string_view text) {
  std::vector<Number> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto skip_blanks = [&] {
    while (at != end && *at == ' ') {
      ++at;
    }
  };
  while (true) {
    skip_blanks();
    Number number{};
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) {
      return std::nullopt;
    }
    numbers.push_back(number);
    at = next;
    skip_blanks();
    if (at == end) {
      return numbers;
    }
    if (*at++ != ',') {
      return std::nullopt;
    }
  }
}

/// The entries of a list, out of its string or out of the single integer that may stand for it. Empty string: no
/// entries.
template <typename Number>
std::optional<std::vector<Number>> ListOf(const AttributeValue& given) {
  if (const std::int64_t* number = std::get_if<std::int64_t>(&given)) {
    return std::vector<Number>{static_cast<Number>(*number)};
  }
  const std::string* text = std::get_if<std::string>(&given);
  if (text == nullptr) {
    return std::nullopt;
  }
  return text->empty() ? std::vector<Number>() : ParseNumbers<Number>(*text);
}

bool AcceptableIntList(const AttributeSpec& spec, const std::vector<std::int64_t>& list) {
  std::vector<std::int64_t> sorted = list;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         std::all_of(list.begin(), list.end(), [&](std::int64_t entry) { return AcceptableInt(spec, entry); });
}

bool AcceptableDoubleList(const AttributeSpec& spec, const std::vector<double>& list) {
  const bool any_length = spec.length == 0 || list.empty();
  return (any_length || list.size() == static_cast<std::size_t>(spec.length)) &&
         std::all_of(list.begin(), list.end(), [&](double entry) { return AcceptableDouble(spec, entry); });
}

}  // namespace

bool Attributes::Accept(const AttributeSpec& spec, const AttributeValue& given, Value& accepted) {
  const bool* const flag = std::get_if<bool>(&given);
  const std::int64_t* const integer = std::get_if<std::int64_t>(&given);
  const double* const number = std::get_if<double>(&given);
  const std::string* const text = std::get_if<std::string>(&given);
  const auto accept = [&accepted](bool acceptable, auto&& value) {
    if (acceptable) {
      accepted = std::forward<decltype(value)>(value);
    }
    return acceptable;
  };
  switch (spec.kind) {
    case AttributeKind::kBool:
      return flag != nullptr && accept(true, *flag);
    case AttributeKind::kInt:
      return integer != nullptr && accept(AcceptableInt(spec, *integer), *integer);
    case AttributeKind::kDouble: {
      const double value = integer != nullptr ? static_cast<double>(*integer) : number != nullptr ? *number : NAN;
      return accept(AcceptableDouble(spec, value), value);
    }
    case AttributeKind::kEnum:
    case AttributeKind::kTypeName:
      return text != nullptr && accept(IsChoice(spec, *text), *text);
    case AttributeKind::kIntList: {
      auto list = ListOf<std::int64_t>(given);
      return list.has_value() && AcceptableIntList(spec, *list) && accept(true, *std::move(list));
    }
    case AttributeKind::kDoubleList: {
      auto list = ListOf<double>(given);
      return list.has_value() && AcceptableDoubleList(spec, *list) && accept(true, *std::move(list));
    }
    case AttributeKind::kIntOrChoice:
      return (integer != nullptr && accept(AcceptableInt(spec, *integer), *integer)) ||
             (text != nullptr && accept(IsChoice(spec, *text), *text));
  }
  return false;
}

absl::StatusOr<Attributes> Attributes::Parse(const std::vector<AttributeSpec>& specs, const AttributeList& given) {
  Attributes attributes;
  std::vector<bool> seen(specs.size(), false);
  for (const auto& [name, value] : given) {
    const auto named = [&name = name](const AttributeSpec& spec) { return spec.name == name; };
    const auto spec = std::find_if(specs.begin(), specs.end(), named);
    if (spec == specs.end()) {
      const auto append_name = [](std::string* out, const AttributeSpec& candidate) { *out += candidate.name; };
      const std::string known = specs.empty() ? "none" : "one of " + absl::StrJoin(specs, ", ", append_name);
      return absl::InvalidArgumentError(absl::StrCat("unknown attribute ", Quoted(name), ": expected ", known));
    }
    const auto index = static_cast<std::size_t>(spec - specs.begin());
    if (seen[index]) {
      return absl::InvalidArgumentError(absl::StrCat("attribute '", spec->name, "': expected once, got it twice"));
    }
    seen[index] = true;
    if (!Accept(*spec, value, attributes.values_.emplace_back(name, Value()).second)) {
      return Mismatch(*spec, value);
    }
  }
  return attributes;
}

const Attributes::Value* Attributes::Find(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) {
      return &value;
    }
  }
  return nullptr;
}

template <typename T>
std::optional<T> Attributes::Get(std::string_view name) const {
  const Value* const found = Find(name);
  const T* const value = found != nullptr ? std::get_if<T>(found) : nullptr;
  return value != nullptr ? std::optional<T>(*value) : std::nullopt;
}

/// An empty list is how a client says "the default".
template <typename T>
std::optional<std::vector<T>> Attributes::GetList(std::string_view name) const {
  std::optional<std::vector<T>> list = Get<std::vector<T>>(name);
  return list.has_value() && !list->empty() ? list : std::nullopt;
}

std::optional<bool> Attributes::GetBool(std::string_view name) const { return Get<bool>(name); }

std::optional<std::int64_t> Attributes::GetInt(std::string_view name) const { return Get<std::int64_t>(name); }

std::optional<double> Attributes::GetDouble(std::string_view name) const { return Get<double>(name); }

std::optional<std::string> Attributes::GetString(std::string_view name) const { return Get<std::string>(name); }

std::optional<std::vector<std::int64_t>> Attributes::GetIntList(std::string_view name) const {
  return GetList<std::int64_t>(name);
}

std::optional<std::vector<double>> Attributes::GetDoubleList(std::string_view name) const {
  return GetList<double>(name);
}

absl::StatusOr<int> ResolveAxis(std::string_view name, std::int64_t axis, int rank) {
  const int axes = std::max(rank, 1);
  if (axis < -axes || axis >= axes) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", absl::string_view(name.data(), name.size()),
                                                   "': expected an axis within [", -axes, ", ", axes - 1,
                                                   "] of a tensor of rank ", rank, ", got ", axis));
  }
  return static_cast<int>(axis < 0 ? axis + axes : axis);
}

}  // namespace kernelwire
