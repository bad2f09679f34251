// The HTTP port that Prometheus scrapes.
#ifndef KERNELWIRE_SERVER_OBSERVE_EXPOSER_H_
#define KERNELWIRE_SERVER_OBSERVE_EXPOSER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace prometheus {
class Collectable;
class Exposer;
}  // namespace prometheus

namespace kernelwire {

/// Serves "/metrics" from threads of its own until destroyed; the destructor waits for scrapes under way, so what
/// the gauges read must live until then.
class MetricsExposer {
 public:
  /// `address` is "host:port" ("0.0.0.0:8002", "[::1]:8002"); port 0 lets the system choose.
  /// Errors: INVALID_ARGUMENT that names the flag for an address of another form; UNAVAILABLE when it cannot be bound.
  static absl::StatusOr<std::unique_ptr<MetricsExposer>> Start(
      const std::string& address, const std::shared_ptr<prometheus::Collectable>& collectable);
  ~MetricsExposer();

  int port() const { return port_; }
  /// As given, with the port that it got.
  const std::string& address() const { return address_; }

 private:
  MetricsExposer();

  std::shared_ptr<prometheus::Collectable> collectable_;  // the exposer itself holds a weak pointer
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::string address_;
  int port_ = 0;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OBSERVE_EXPOSER_H_
