// The models that clients can name. Every operator is one, under its own name, version "1".
#ifndef KERNELWIRE_SERVER_CATALOG_CATALOG_H_
#define KERNELWIRE_SERVER_CATALOG_CATALOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/operator.h"

namespace kernelwire {

/// What a client names on the wire.
struct Model {
  std::string name;
  std::string version;  // decimal, without leading zeros
  const Operator* op = nullptr;
  std::uint32_t op_index = 0;  // in AllOperators()
};

/// Constant after construction; thread-safe.
class Catalog {
 public:
  /// A model for every operator of the registry.
  static Catalog OfAllOperators();

  /// Requires: no two models share name and version; their operators outlive the catalogue.
  explicit Catalog(std::vector<Model> models);

  /// The model, of the newest version when `version` is empty. Never null when OK; valid as long as the catalogue.
  /// Errors: NOT_FOUND that names the model (cut to 100 characters) and lists near names, or the versions there are.
  absl::StatusOr<const Model*> Find(std::string_view name, std::string_view version) const;
  /// The model of that name in its newest version, or null: statistics count requests for unknown versions too.
  const Model* FindAnyVersion(std::string_view name) const;

  const std::vector<Model>& models() const { return models_; }

 private:
  absl::Status UnknownName(std::string_view name) const;
  absl::Status UnknownVersion(std::string_view name, std::string_view version) const;

  std::vector<Model> models_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CATALOG_CATALOG_H_
