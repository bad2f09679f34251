#include "tests/soak/request_counters.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

namespace kernelwire::soak {
namespace {

int ConnectTo(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return -1;
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &wanted, &found) != 0) {
    return -1;
  }
  int connection = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection >= 0 && connect(connection, found->ai_addr, found->ai_addrlen) != 0) {
    close(connection);
    connection = -1;
  }
  freeaddrinfo(found);
  return connection;
}

std::string Get(const std::string& address) {
  const int connection = ConnectTo(address);
  if (connection < 0) {
    return "";
  }
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n\r\n";
  std::string text;
  if (send(connection, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char bytes[4096];
    for (ssize_t n = 0; (n = recv(connection, bytes, sizeof(bytes), 0)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(n));
    }
  }
  close(connection);
  return text;
}

/// The value of `label` in `series`; empty when it has none.
std::string LabelOf(const std::string& series, const std::string& label) {
  const std::size_t begin = series.find(label + "=\"");
  if (begin == std::string::npos) {
    return "";
  }
  const std::size_t from = begin + label.size() + 2;
  return series.substr(from, series.find('"', from) - from);
}

}  // namespace

std::optional<RequestCounters> ReadRequestCounters(const std::string& address) {
  std::istringstream text(Get(address));
  RequestCounters counters;
  bool found = false;
  for (std::string line; std::getline(text, line);) {
    const std::size_t space = line.rfind(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos || line.rfind("kernelwire_", 0) != 0) {
      continue;
    }
    const std::string series = line.substr(0, space);
    const std::string name = series.substr(0, series.find('{'));
    const std::string code = LabelOf(series, "code");
    const auto value = [&] { return static_cast<std::int64_t>(std::stod(line.substr(space + 1))); };
    if (name == "kernelwire_errors_total" || (name == "kernelwire_request_duration_seconds_count" && code == "OK")) {
      counters.by_code[code] += value();
      found = true;
    } else if (name == "kernelwire_calls") {
      counters.calls = value();
    } else if (name == "kernelwire_outstanding_requests") {
      counters.outstanding = value();
    }
  }
  return found ? std::optional<RequestCounters>(counters) : std::nullopt;
}

}  // namespace kernelwire::soak
