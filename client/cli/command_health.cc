// kernelwire health: is it there, and does it take work?
#include <iostream>

#include "client/cli/command.h"
#include "open_inference.pb.h"

namespace kernelwire::cli {
namespace {

const char* TextOf(client::Health health) {
  switch (health) {
    case client::Health::kServing:
      return "SERVING";
    case client::Health::kNotServing:
      return "NOT_SERVING";
    case client::Health::kUnknown:
      break;
  }
  return "UNKNOWN";
}

int RunHealth(const Arguments& arguments) {
  const client::Client client = ConnectTo(arguments);
  const std::string service = arguments.Has("service") ? arguments.Text("service") : "";
  const auto health = client.CheckHealth(service, TimeoutOf(arguments));
  if (!health.ok()) {
    return Fail(health.status());
  }
  std::cout << TextOf(*health);
  if (const auto server = client.ServerMetadata(TimeoutOf(arguments)); server.ok()) {
    std::cout << "  " << server->name() << ' ' << server->version() << " at " << arguments.Text("address");
  }
  std::cout << '\n';
  return *health == client::Health::kServing ? kExitOk : kExitFailed;
}

}  // namespace

Command HealthCommand() {
  return {"health",
          "",
          "says whether the server takes work",
          "Asks the standard health service (grpc.health.v1) and prints SERVING, NOT_SERVING or UNKNOWN.\n"
          "The exit status is 0 for SERVING alone, so that scripts and probes can use it.\n",
          {{"service", OptionKind::kText, "NAME", "Asks for one service instead of the server as a whole."}},
          RunHealth};
}

}  // namespace kernelwire::cli
