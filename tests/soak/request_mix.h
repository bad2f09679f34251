// What the soak sends: requests of every operator and size, and some that must be refused, encoded once.
#ifndef KERNELWIRE_TESTS_SOAK_REQUEST_MIX_H_
#define KERNELWIRE_TESTS_SOAK_REQUEST_MIX_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "grpcpp/support/byte_buffer.h"

namespace kernelwire::soak {

/// One encoded request; sending it copies nothing, since its bytes count their references.
struct PreparedRequest {
  grpc::ByteBuffer bytes;
  std::string outcome = "OK";  // the code that the server must answer
};

/// How a call of a good request ends.
enum class Ending : std::uint8_t { kNormal, kCancelled, kTinyDeadline };

struct Draw {
  const PreparedRequest* request;
  Ending ending;
};

/// For one thread. The same seed gives the same draws.
class RequestMix {
 public:
  explicit RequestMix(std::uint64_t seed);

  /// 1 % malformed, 1 % cancelled, 1 % with a deadline that most calls miss.
  Draw Next();
  /// As Next, without endings that the client makes: a stream has one deadline for all its requests.
  const PreparedRequest* NextOfStream();
  const PreparedRequest* NextGood();
  /// In [0, bound).
  std::uint64_t Uniform(std::uint64_t bound);

 private:
  std::mt19937_64 random_;
  std::vector<PreparedRequest> good_;
  std::vector<PreparedRequest> malformed_;
};

}  // namespace kernelwire::soak

#endif  // KERNELWIRE_TESTS_SOAK_REQUEST_MIX_H_
