// Many calls outstanding, one thread: for throughput, and for measuring it.
//
//   Pipeline pipeline(client);
//   for (std::uint64_t i = 0; i < 64; ++i) pipeline.Start(request, 1s, i);
//   while (auto done = pipeline.Next(2s)) { use(done->tag(), done->Decode()); }
#ifndef KERNELWIRE_CLIENT_PIPELINE_H_
#define KERNELWIRE_CLIENT_PIPELINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernelwire/client.h"
#include "kernelwire/infer.h"
#include "kernelwire/status.h"

namespace kernelwire::client {

/// Belongs to one thread, which does all the work, inside Start and Next. Uses the client's connections in turn. Does
/// not repeat calls: the status says whether and when to (retry.h has the rule).
class Pipeline {
 public:
  /// A call that has ended. Valid until the next call of Next.
  class Completion {
   public:
    std::uint64_t tag() const;
    const Status& status() const;
    /// Length of the reply's message; 0 after a failure.
    std::size_t reply_bytes() const;
    /// The reply, taken apart only now: who merely counts replies pays nothing for their content.
    Result<InferReply> Decode() const;

   private:
    friend class Pipeline;
    explicit Completion(const void* call) : call_(call) {}
    const void* call_;
  };

  /// `method`: "/package.Service/Method" to send the same bytes to something else, such as a bare echo.
  explicit Pipeline(const Client& client, std::string method = "/inference.GRPCInferenceService/ModelInfer");
  /// Cancels what is outstanding and waits until it has ended.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Starts a call and returns at once; `tag` comes back with its completion. The request's bytes are shared, not
  /// copied. There is no limit to the number outstanding.
  void Start(const EncodedRequest& request, Timeout timeout, std::uint64_t tag);

  /// The next call to end, in order of ending; nullopt when none ends within `wait`, or none is outstanding. A wait of
  /// 0 only looks. The network is waited for in whole milliseconds.
  ///
  /// A call whose connection is down fails at once. Not more often than ten times a second such an end is held back
  /// until there is a connection again, for what is left of `wait` but at least 1 ms and at most 20: without that none
  /// might be made for seconds.
  std::optional<Completion> Next(std::chrono::nanoseconds wait);

  /// Calls that Next has not returned yet.
  std::size_t outstanding() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_PIPELINE_H_
