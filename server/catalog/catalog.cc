#include "server/catalog/catalog.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/core/quoted.h"
#include "kernels/registry.h"

namespace kernelwire {
namespace {

/// Insertions, deletions and substitutions between two names (Levenshtein distance, by the two-row method of Wagner and
/// Fischer).
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    above[j] = j;
  }
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
    }
    std::swap(above, row);
  }
  return above[b.size()];
}

/// Decimal numbers without leading zeros, of any length.
bool NewerThan(std::string_view a, std::string_view b) { return a.size() != b.size() ? a.size() > b.size() : a > b; }

/// The names in `known` that a mistyped `name` may have meant, nearest first: at most three, and none that differs in
/// more than a third of its letters.
std::vector<std::string> NearNames(std::string_view name, const std::vector<std::string>& known) {
  // A name much longer than any model is near to none; leaving early keeps the cost of a hostile one small.
  constexpr std::size_t kLongestMistyped = 64;
  if (name.size() > kLongestMistyped) {
    return {};
  }
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : known) {
    const std::size_t distance = EditDistance(name, candidate);
    if (3 * distance <= candidate.size()) {
      near.emplace_back(distance, candidate);
    }
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 3); ++i) {
    names.push_back(Quoted(near[i].second));
  }
  return names;
}

}  // namespace

Catalog Catalog::OfAllOperators() {
  std::vector<Model> models;
  for (const Operator& op : AllOperators()) {
    models.push_back({op.spec.name, "1", &op, static_cast<std::uint32_t>(models.size())});
  }
  return Catalog(std::move(models));
}

Catalog::Catalog(std::vector<Model> models) : models_(std::move(models)) {}

absl::StatusOr<const Model*> Catalog::Find(std::string_view name, std::string_view version) const {
  const Model* const newest = FindAnyVersion(name);
  if (newest == nullptr) {
    return UnknownName(name);
  }
  if (version.empty() || newest->version == version) {
    return newest;
  }
  for (const Model& model : models_) {
    if (model.name == name && model.version == version) {
      return &model;
    }
  }
  return UnknownVersion(name, version);
}

const Model* Catalog::FindAnyVersion(std::string_view name) const {
  // A walk over a few dozen names, most of which differ in length already: faster than a hash of the name.
  const Model* newest = nullptr;
  for (const Model& model : models_) {
    if (model.name == name && (newest == nullptr || NewerThan(model.version, newest->version))) {
      newest = &model;
    }
  }
  return newest;
}

absl::Status Catalog::UnknownName(std::string_view name) const {
  std::vector<std::string> known;
  for (const Model& model : models_) {
    if (std::find(known.begin(), known.end(), model.name) == known.end()) {
      known.push_back(model.name);
    }
  }
  const std::vector<std::string> near = NearNames(name, known);
  if (!near.empty()) {
    return absl::NotFoundError(
        absl::StrCat("model ", Quoted(name), ": not found; did you mean ", absl::StrJoin(near, " or "), "?"));
  }
  return absl::NotFoundError(
      absl::StrCat("model ", Quoted(name), ": not found; the models are ", absl::StrJoin(known, ", ")));
}

absl::Status Catalog::UnknownVersion(std::string_view name, std::string_view version) const {
  std::vector<std::string> versions;
  for (const Model& model : models_) {
    if (model.name == name) {
      versions.push_back(model.version);
    }
  }
  return absl::NotFoundError(absl::StrCat("model ", Quoted(name), ": version ", Quoted(version),
                                          " not found; there is ", absl::StrJoin(versions, ", ")));
}

}  // namespace kernelwire
