// kernelwire-server: reads the flags, serves until a signal or a fault, and ends with a code that says which.
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/command_line.h"
#include "server/exec/cuda_device.h"
#include "server/exit_code.h"
#include "server/heap.h"
#include "server/observe/log.h"
#include "server/rpc/grpc_log.h"
#include "server/rpc/probe.h"
#include "server/server.h"
#include "server/stop_signals.h"
#include "spdlog/spdlog.h"

namespace kernelwire {
namespace {

constexpr absl::Duration kProbeTimeout = absl::Seconds(1);

/// Passes signals on to the server. Before there is one nobody has been promised anything: the process just ends.
class Stopper {
 public:
  void Signal(int number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (server_ == nullptr) {
      TerminateProcess(ExitCode::kOk);
    }
    // SIGINT comes from somebody at a terminal, whom no load balancer has to hear of first.
    server_->RequestStop(/*at_once=*/number == SIGINT);
  }
  void Attach(Server* server) {
    const std::lock_guard<std::mutex> lock(mutex_);
    server_ = server;
  }

 private:
  std::mutex mutex_;
  Server* server_ = nullptr;
};

ExitCode Serve(const Options& options) {
  LoadKernelsAtStart();
  Stopper stopper;
  const StopSignals signals([&stopper](int number) { stopper.Signal(number); });  // before any other thread
  std::signal(SIGPIPE, SIG_IGN);  // a peer that goes away is an error of its call, not the end of the process
  SetUpLog(options.log_level, options.log_format);
  RedirectGrpcLog();
  const absl::StatusOr<std::unique_ptr<Server>> server = Server::Create(options);
  if (!server.ok()) {
    spdlog::critical("not started: {}", std::string(server.status().message()));
    return ExitCode::kStartFailed;
  }
  stopper.Attach(server->get());
  const ExitCode code = (*server)->Wait();
  stopper.Attach(nullptr);  // a signal from here on ends the process, which is about to end
  return code;
}

ExitCode Run(const CommandLine& command_line) {
  switch (command_line.mode) {
    case CommandLine::Mode::kHelp:
      std::fputs(HelpText().c_str(), stdout);
      return ExitCode::kOk;
    case CommandLine::Mode::kVersion:
      std::fputs(VersionText().c_str(), stdout);
      return ExitCode::kOk;
    case CommandLine::Mode::kProbe: {
      const absl::Status health = Probe(command_line.probe_address, kProbeTimeout);
      if (!health.ok()) {
        std::fprintf(stderr, "%s\n", health.ToString().c_str());
      }
      return health.ok() ? ExitCode::kOk : ExitCode::kStartFailed;
    }
    case CommandLine::Mode::kServe:
      break;
  }
  return Serve(command_line.options);
}

}  // namespace
}  // namespace kernelwire

int main(int argc, char** argv) {
  kernelwire::SetUpHeap();
  const auto command_line = kernelwire::ParseCommandLine({argv + 1, argv + argc});
  if (!command_line.ok()) {
    std::fprintf(stderr, "%s\n", std::string(command_line.status().message()).c_str());
    return static_cast<int>(kernelwire::ExitCode::kUsage);
  }
  return static_cast<int>(kernelwire::Run(*command_line));
}
