// What the server says of its health: a state for each name that a client may ask for.
#ifndef KERNELWIRE_SERVER_RPC_HEALTH_H_
#define KERNELWIRE_SERVER_RPC_HEALTH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace kernelwire {

/// The numbers are those of grpc.health.v1.HealthCheckResponse.ServingStatus.
enum class Health : std::uint8_t { kUnknown = 0, kServing = 1, kNotServing = 2 };

/// The states behind grpc.health.v1.Health, ServerLive, ServerReady and ModelReady. Thread-safe.
///
/// Names: "" (the server as a whole), "inference.GRPCInferenceService" and "readiness" say whether it is ready for
/// work, and change together; "liveness" says that it runs at all. More can be added ("gpu/0").
class HealthState {
 public:
  /// Not ready, alive.
  HealthState();

  /// Sets "", "inference.GRPCInferenceService" and "readiness" to SERVING or NOT_SERVING.
  void SetReady(bool ready);
  /// Sets one name; a new name is added. Watchers are told if anything changed.
  void Set(std::string_view service, Health health);

  /// Nothing for an unknown name.
  std::optional<Health> Get(std::string_view service) const;
  bool ready() const { return Get("") == Health::kServing; }
  bool live() const { return Get("liveness") == Health::kServing; }

  /// `listener` is called after every change, from the changing thread, without a lock that Get needs. It must not call
  /// Set, SetReady or SetListener, and must not block. An empty one removes the present one, and returns only when no
  /// call of it is under way.
  void SetListener(std::function<void()> listener);

 private:
  bool Assign(std::string_view service, Health health);
  void Notify();

  mutable std::mutex mutex_;
  std::map<std::string, Health, std::less<>> states_;

  std::mutex listener_mutex_;
  std::function<void()> listener_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_HEALTH_H_
