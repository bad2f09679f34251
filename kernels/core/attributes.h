// Named parameters of a request: what an operator accepts, and what a request gave, checked once.
#ifndef KERNELWIRE_KERNELS_CORE_ATTRIBUTES_H_
#define KERNELWIRE_KERNELS_CORE_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace kernelwire {

/// A parameter as it came in: the protocol's bool, int64 (uint64 beyond int64 is refused before), double and string.
using AttributeValue = std::variant<bool, std::int64_t, double, std::string>;

/// The parameters of a request by name, not yet checked.
using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;

/// What an attribute may be. Enumerations and lists travel as strings (an integer list of one may come as an int64).
enum class AttributeKind : std::uint8_t {
  kBool,
  kInt,          // within [min, max]
  kDouble,       // finite, also after narrowing to f32; an integer is taken too
  kEnum,         // one of `choices`, lower case
  kTypeName,     // a wire type name, one of `choices`
  kIntList,      // "0,2"; repeated entries are refused
  kDoubleList,   // "0.1,0.2", of `length` entries
  kIntOrChoice,  // an integer, or one of `choices` ("all")
};

/// One attribute of a spec. `doc` is one sentence for people (unit, default, effect).
struct AttributeSpec {
  std::string name;
  AttributeKind kind = AttributeKind::kInt;
  std::string doc;
  std::string default_text;            // as `describe` prints it; "none" when absence means "no limit"
  std::vector<std::string> choices{};  // kEnum, kTypeName, kIntOrChoice
  double min = -1.7e308;               // numbers, and entries of lists: smallest value taken
  double max = 1.7e308;                // numbers, and entries of lists: largest value taken
  bool min_exclusive = false;          // the smallest value itself is refused ("> 0"), for kDouble also after narrowing
  int length = 0;                      // kDoubleList: entries; 0 = any
};

/// The attributes of one request, checked against the specs. Getters return nullopt when the client left the
/// attribute out (or gave an empty list), so that each operator states its own default where it uses it.
/// Requires: the getter's type is that of the attribute's kind. Enumerations and type names are strings; an attribute
/// of kIntOrChoice is found by GetInt or by GetString, whichever the client gave. Thread-safe once parsed.
class Attributes {
 public:
  /// Checks every given name and value. Errors: INVALID_ARGUMENT that names the attribute, what was expected and what
  /// came; for an unknown name it lists the operator's attributes; a name given twice is refused.
  /// `given` need not be sorted.
  static absl::StatusOr<Attributes> Parse(const std::vector<AttributeSpec>& specs, const AttributeList& given);

  std::optional<bool> GetBool(std::string_view name) const;
  std::optional<std::int64_t> GetInt(std::string_view name) const;
  std::optional<double> GetDouble(std::string_view name) const;
  std::optional<std::string> GetString(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> GetIntList(std::string_view name) const;
  std::optional<std::vector<double>> GetDoubleList(std::string_view name) const;

 private:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;
  /// Puts `given` into `accepted` as the kind stores it; false, and nothing done, when the spec does not allow it.
  static bool Accept(const AttributeSpec& spec, const AttributeValue& given, Value& accepted);
  const Value* Find(std::string_view name) const;
  template <typename T>
  std::optional<T> Get(std::string_view name) const;
  template <typename T>
  std::optional<std::vector<T>> GetList(std::string_view name) const;

  std::vector<std::pair<std::string, Value>> values_;
};

/// `axis` brought into [0, rank) as PyTorch does (rank 0 counts as 1).
/// Errors: INVALID_ARGUMENT that names `name`, the value and the allowed range.
absl::StatusOr<int> ResolveAxis(std::string_view name, std::int64_t axis, int rank);

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_CORE_ATTRIBUTES_H_
