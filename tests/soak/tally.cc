#include "tests/soak/tally.h"

#include <set>

namespace kernelwire::soak {

void Tally::Count(const std::string& expected, const std::string& actual, const std::string& message) {
  ++by_code[actual];
  if (actual != expected) {
    if (wrong++ == 0) {
      first_wrong = "expected " + expected + ", got " + actual + ": " + message;
    }
  }
}

std::int64_t Tally::total() const {
  std::int64_t sum = given_up;
  for (const auto& [code, count] : by_code) {
    sum += count;
  }
  return sum;
}

std::string Contradictions(const Tally& tally, const std::map<std::string, std::int64_t>& server) {
  const std::set<std::string> of_given_up = {"OK", "CANCELLED", "DEADLINE_EXCEEDED"};
  std::map<std::string, std::int64_t> expected = tally.by_code;
  expected["OK"] += tally.given_up_ok;
  std::int64_t server_total = 0;
  for (const auto& [code, count] : server) {
    server_total += count;
    expected[code] += 0;
  }
  std::string lines;
  const auto contradict = [&lines](const std::string& what, std::int64_t counted, std::int64_t least,
                                   std::int64_t most) {
    if (counted < least || counted > most) {
      lines += what + ": the server counted " + std::to_string(counted) + ", expected " + std::to_string(least) +
               (most > least ? " to " + std::to_string(most) : "") + "\n";
    }
  };
  const std::int64_t unknown = tally.given_up - tally.given_up_ok;
  for (const auto& [code, least] : expected) {
    const auto found = server.find(code);
    contradict(code, found == server.end() ? 0 : found->second, least,
               least + (of_given_up.count(code) != 0 ? unknown : 0));
  }
  contradict("all codes", server_total, tally.total() - unknown, tally.total());
  return lines;
}

}  // namespace kernelwire::soak
