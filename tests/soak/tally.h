// The client's count of outcomes, and whether the server's agrees with it.
#ifndef KERNELWIRE_TESTS_SOAK_TALLY_H_
#define KERNELWIRE_TESTS_SOAK_TALLY_H_

#include <cstdint>
#include <map>
#include <string>

namespace kernelwire::soak {

/// Outcomes by code. Not thread-safe.
struct Tally {
  std::map<std::string, std::int64_t> by_code;  // requests whose outcome both sides must know
  /// Good requests that the client gave up: it cannot know whether the server saw them, or answered first.
  std::int64_t given_up = 0;
  std::int64_t given_up_ok = 0;  // of these, answered in time
  std::int64_t wrong = 0;        // outcomes other than the expected one
  std::string first_wrong;       // what the first of them was

  void Count(const std::string& expected, const std::string& actual, const std::string& message);
  std::int64_t total() const;
};

/// "" when the server's counts can be those of the same requests; otherwise every contradiction, a line each.
std::string Contradictions(const Tally& tally, const std::map<std::string, std::int64_t>& server);

}  // namespace kernelwire::soak

#endif  // KERNELWIRE_TESTS_SOAK_TALLY_H_
