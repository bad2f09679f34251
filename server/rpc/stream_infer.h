// The handler of ModelStreamInfer: many requests over one call.
#ifndef KERNELWIRE_SERVER_RPC_STREAM_INFER_H_
#define KERNELWIRE_SERVER_RPC_STREAM_INFER_H_

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/call.h"
#include "server/rpc/call_handler.h"
#include "server/rpc/infer_request.h"

namespace kernelwire {

/// Requests run side by side, and replies leave in the order in which they complete, one write at a time. A request
/// that fails is answered by an error of its own, and the stream goes on. It is not read while it has
/// RpcOptions::max_stream_requests unanswered: that bounds unread replies, too.
///
/// Requests are counted one by one; the stream as a call counts, too, if it fails.
///
/// The stream ends OK when the client has closed its side and has all replies; with UNAVAILABLE, after the replies to
/// what was read, when the server stops.
class StreamInfer final : public CallHandler {
 public:
  explicit StreamInfer(Call* call) : call_(call) {}

  void Begin() override { ReadMore(); }
  void MessageRead(bool ok) override;
  void MessageWritten(bool ok) override;
  void Cancelled() override;
  void Drain() override;
  void Release() override;

 private:
  /// A request of the stream. Kept in `all_`, and reused.
  class Element final : public InferRequest {
   public:
    Element(CallQueue* queue, StreamInfer* stream) : InferRequest(queue), stream_(stream) {}
    void Complete(const Completion& completion) override;
    void Fail(const absl::Status& status);

   private:
    friend class StreamInfer;
    StreamInfer* const stream_;
    bool in_flight_ = false;
    grpc::ByteBuffer reply_;
  };

  Element* Take();
  void ReadMore();
  /// Any thread: the element's reply is written now, or after those before it.
  void Send(Element* element);
  void Return(Element* element, bool sent);
  void FinishIfDone();

  Call* const call_;

  // On the queue's thread only.
  grpc::ByteBuffer bytes_;
  std::vector<std::unique_ptr<Element>> all_;
  std::vector<Element*> spare_;
  int in_flight_ = 0;
  bool reading_ = false;
  bool ending_ = false;  // nothing more will be read
  bool finished_ = false;
  absl::Status end_;

  std::mutex mutex_;
  Element* writing_ = nullptr;     // guarded by mutex_
  std::deque<Element*> outgoing_;  // guarded by mutex_
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_STREAM_INFER_H_
