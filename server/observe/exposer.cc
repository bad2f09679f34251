#include "server/observe/exposer.h"

#include <arpa/inet.h>

#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "prometheus/exposer.h"

namespace kernelwire {
namespace {

// A connection keeps a thread until its request is there. Those that say nothing take the threads away from Prometheus,
// whose scrapes time out after 10 s by default; the library's own limit is 30 s.
constexpr char kThreads[] = "8";
constexpr char kRequestTimeout[] = "2000";

/// CivetWeb takes any four numbers for an IPv4 address, and cuts them to bytes.
bool IsHost(const std::string& host) {
  in_addr ipv4{};
  const bool numeric = host.find_first_not_of("0123456789.") == std::string::npos;
  return !host.empty() && (!numeric || inet_pton(AF_INET, host.c_str(), &ipv4) == 1);
}

/// Only the form: whether the host exists is for the system to say. CivetWeb would take more (lists, TLS and redirect
/// suffixes), none of which is meant here.
absl::Status CheckForm(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  int port = -1;
  const bool good = colon != std::string::npos && IsHost(address.substr(0, colon)) &&
                    address.find(',') == std::string::npos && absl::SimpleAtoi(address.substr(colon + 1), &port) &&
                    port >= 0 && port <= 65535;
  if (good) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--metrics_address: expected host:port with a port from 0 to 65535, got \"", address, "\""));
}

}  // namespace

MetricsExposer::MetricsExposer() = default;
MetricsExposer::~MetricsExposer() = default;

absl::StatusOr<std::unique_ptr<MetricsExposer>> MetricsExposer::Start(
    const std::string& address, const std::shared_ptr<prometheus::Collectable>& collectable) {
  if (absl::Status form = CheckForm(address); !form.ok()) {
    return form;
  }
  std::unique_ptr<MetricsExposer> exposer(new MetricsExposer);
  std::vector<int> ports;
  try {  // the library reports a bad address by throwing
    const std::vector<std::string> options = {"listening_ports", address,  //
                                              "num_threads",     kThreads, "request_timeout_ms", kRequestTimeout};
    exposer->exposer_ = std::make_unique<prometheus::Exposer>(options);
    ports = exposer->exposer_->GetListeningPorts();
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("--metrics_address: cannot listen on ", address, ": ", error.what(),
                                               " (bad host, port in use, or not allowed)"));
  }
  if (ports.empty()) {
    return absl::UnavailableError(absl::StrCat("--metrics_address: cannot listen on ", address));
  }
  exposer->collectable_ = collectable;
  exposer->port_ = ports.front();
  exposer->address_ = absl::StrCat(address.substr(0, address.rfind(':') + 1), exposer->port_);
  exposer->exposer_->RegisterCollectable(collectable);
  return exposer;
}

}  // namespace kernelwire
