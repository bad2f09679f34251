#include "client/cli/command.h"

#include <iostream>

namespace kernelwire::cli {

std::vector<Option> CommonOptions() {
  return {
      {"address", OptionKind::kText, "ADDRESS", "The server: host:port, or unix:/path/to/socket.", "localhost:8001"},
      {"timeout", OptionKind::kDuration, "TIME", "The longest a call may take, retries included (500ms, 10s).", "10s"},
      {"help", OptionKind::kSwitch, "", "Prints this."}};
}

client::Client ConnectTo(const Arguments& arguments, int connections) {
  client::ClientOptions options;
  options.connections = connections;
  return client::Client::Connect(arguments.Text("address"), options);
}

client::Timeout TimeoutOf(const Arguments& arguments) { return arguments.Duration("timeout"); }

int Fail(const client::Status& status) {
  std::cerr << "kernelwire: " << status.ToString() << '\n';
  return kExitFailed;
}

int FailUsage(const std::string& message) {
  std::cerr << "kernelwire: " << message << '\n';
  return kExitUsage;
}

}  // namespace kernelwire::cli
