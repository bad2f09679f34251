// Keeps a bounded number of calls under way, unary and streams, until a number of requests has ended.
#ifndef KERNELWIRE_TESTS_SOAK_LOAD_H_
#define KERNELWIRE_TESTS_SOAK_LOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "grpcpp/completion_queue.h"
#include "tests/soak/request_mix.h"
#include "tests/soak/tally.h"

namespace kernelwire::soak {

/// What a completion queue brings back.
class Event {
 public:
  virtual ~Event() = default;
  virtual void Happened(bool ok) = 0;
};

/// Shared by all calls of a load. One thread.
struct LoadState {
  RequestMix* mix;
  Tally* tally;
  grpc::CompletionQueue queue;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::int64_t to_start = 0;  // requests that nobody has taken yet
  int alive = 0;              // callers that have not come to their end

  /// Whether the caller may start one more.
  bool Take() { return to_start > 0 && to_start-- > 0; }
};

struct LoadOptions {
  int connections = 4;
  int unary_callers = 24;  // each with one call under way
  int streams = 3;         // each with up to kStreamWindow requests under way
};

class Load {
 public:
  Load(const std::string& address, const LoadOptions& options, RequestMix* mix, Tally* tally);
  ~Load();

  /// Returns when `requests` more have been sent and all of them have ended.
  void Run(std::int64_t requests);

 private:
  const LoadOptions options_;
  LoadState state_;
};

}  // namespace kernelwire::soak

#endif  // KERNELWIRE_TESTS_SOAK_LOAD_H_
