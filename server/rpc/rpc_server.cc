#include "server/rpc/rpc_server.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "kernels/core/status_macros.h"
#include "server/rpc/call_environment.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/server_builder.h"

namespace kernelwire {
namespace {

constexpr char kUnix[] = "unix:";
constexpr char kAbstract[] = "unix-abstract:";

/// The address with the port that was bound in place of port 0.
std::string BoundAddress(const std::string& address, int port) {
  if (absl::StartsWith(address, kUnix) || absl::StartsWith(address, kAbstract)) {
    return address;
  }
  const std::size_t colon = address.rfind(':');
  return colon == std::string::npos ? absl::StrCat(address, ":", port)
                                    : absl::StrCat(address.substr(0, colon), ":", port);
}

/// Calls that were let in.
int AdmittedCalls(const CallEnvironment& environment) {
  const int refused = environment.live_refused.load();  // first: one that ends meanwhile makes the difference smaller
  return environment.live_calls.load() - refused;
}

/// Once gRPC shuts down it drops new calls as CANCELLED, which no client repeats. So the ports stay open while calls
/// that were let in go on, and until clients that come too late have stopped coming: they are told UNAVAILABLE.
/// Returns how many of those that were let in are left when the time is up.
int AwaitQuiet(const CallEnvironment& environment, std::chrono::steady_clock::time_point until) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  constexpr milliseconds kLook(2);
  constexpr milliseconds kQuiet(50);
  constexpr milliseconds kLongest(500);  // some clients never stop
  int left = 0;
  while ((left = AdmittedCalls(environment)) > 0 && steady_clock::now() < until) {
    std::this_thread::sleep_for(kLook);
  }
  until = std::min(until, steady_clock::now() + kLongest);
  std::uint64_t seen = environment.late_calls.load();
  steady_clock::time_point quiet_since = steady_clock::now();
  while (steady_clock::now() < std::min(until, quiet_since + kQuiet)) {
    std::this_thread::sleep_for(kLook);
    if (environment.late_calls.load() != seen || AdmittedCalls(environment) > 0) {
      seen = environment.late_calls.load();
      quiet_since = steady_clock::now();
    }
  }
  return left;
}

/// For the server's user and group alone.
absl::Status RestrictSocket(const std::string& address) {
  absl::string_view path = address;
  if (!absl::ConsumePrefix(&path, kUnix)) {
    return absl::OkStatus();
  }
  absl::ConsumePrefix(&path, "//");  // unix:///absolute/path
  const std::string file(path);
  if (::chmod(file.c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot restrict the socket ", file, " to its owner and group"));
  }
  return absl::OkStatus();
}

}  // namespace

struct RpcServer::Implementation {
  Implementation(const RpcOptions& options, const RpcParts& parts) : environment(options, parts) {}

  CallEnvironment environment;
  std::vector<std::unique_ptr<CallQueue>> queues;
  std::unique_ptr<grpc::Server> server;  // goes before the queues
  bool running = false;
};

RpcServer::RpcServer() = default;

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcOptions& options, const RpcParts& parts) {
  KERNELWIRE_RETURN_IF_ERROR(CheckRpcOptions(options));
  std::unique_ptr<RpcServer> self(new RpcServer);
  self->implementation_ = std::make_unique<Implementation>(options, parts);
  Implementation& our = *self->implementation_;

  grpc::ServerBuilder builder;
  Configure(options, &builder, &self->ports_);
  builder.RegisterAsyncGenericService(&our.environment.service);
  for (int i = 0; i < options.completion_queues; ++i) {
    our.queues.push_back(std::make_unique<CallQueue>(&our.environment, builder.AddCompletionQueue(), i));
  }
  our.server = builder.BuildAndStart();
  for (std::size_t i = 0; i < options.addresses.size(); ++i) {
    if (self->ports_[i] == 0) {  // gRPC stops at the first
      return absl::UnavailableError(
          absl::StrCat("cannot listen on '", options.addresses[i], "': not an address, in use, or not permitted"));
    }
    self->addresses_.push_back(BoundAddress(options.addresses[i], self->ports_[i]));
  }
  if (our.server == nullptr) {
    return absl::InternalError("gRPC could not start its server; its log says why");
  }
  our.running = true;
  for (const auto& queue : our.queues) {
    queue->Start();
  }
  parts.health->SetListener([queues = &our.queues] {
    for (const auto& queue : *queues) {
      queue->TellHealth();
    }
  });
  for (const std::string& address : self->addresses_) {
    KERNELWIRE_RETURN_IF_ERROR(RestrictSocket(address));
  }
  return self;
}

RpcServer::~RpcServer() { Shutdown(std::chrono::milliseconds(0)); }

void RpcServer::StopAccepting() { implementation_->environment.draining.store(true); }

int RpcServer::Shutdown(std::chrono::milliseconds grace) {
  Implementation& our = *implementation_;
  if (!std::exchange(our.running, false)) {
    return 0;
  }
  StopAccepting();
  for (const auto& queue : our.queues) {
    queue->Drain();
  }
  const auto until = std::chrono::steady_clock::now() + grace;
  const int cut_off = AwaitQuiet(our.environment, until);
  our.server->Shutdown(std::chrono::system_clock::now() + (until - std::chrono::steady_clock::now()));
  our.environment.parts.health->SetListener({});
  for (const auto& queue : our.queues) {
    queue->Stop();
  }
  return cut_off;
}

int RpcServer::live_calls() const { return implementation_->environment.live_calls.load(); }

}  // namespace kernelwire
