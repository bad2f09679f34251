#include "server/rpc/health.h"

#include <utility>

namespace kernelwire {

HealthState::HealthState() {
  Assign("", Health::kNotServing);
  Assign("inference.GRPCInferenceService", Health::kNotServing);
  Assign("readiness", Health::kNotServing);
  Assign("liveness", Health::kServing);
}

void HealthState::SetReady(bool ready) {
  const Health health = ready ? Health::kServing : Health::kNotServing;
  bool changed = Assign("", health);
  changed |= Assign("inference.GRPCInferenceService", health);
  changed |= Assign("readiness", health);
  if (changed) {
    Notify();
  }
}

void HealthState::Set(std::string_view service, Health health) {
  if (Assign(service, health)) {
    Notify();
  }
}

std::optional<Health> HealthState::Get(std::string_view service) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = states_.find(service);
  return found == states_.end() ? std::nullopt : std::optional<Health>(found->second);
}

void HealthState::SetListener(std::function<void()> listener) {
  const std::lock_guard<std::mutex> lock(listener_mutex_);
  listener_ = std::move(listener);
}

bool HealthState::Assign(std::string_view service, Health health) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = states_.find(service);
  if (found == states_.end()) {
    states_.emplace(service, health);
    return true;
  }
  return std::exchange(found->second, health) != health;
}

void HealthState::Notify() {
  const std::lock_guard<std::mutex> lock(listener_mutex_);
  if (listener_) {
    listener_();
  }
}

}  // namespace kernelwire
