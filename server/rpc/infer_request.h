// An inference on its way: the codec's message and the scheduler's request in one reusable object.
#ifndef KERNELWIRE_SERVER_RPC_INFER_REQUEST_H_
#define KERNELWIRE_SERVER_RPC_INFER_REQUEST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/batch/request.h"
#include "server/codec/infer_message.h"
#include "server/observe/metrics.h"
#include "server/rpc/mailbox.h"

namespace kernelwire {

class CallQueue;

/// What ModelInfer and an element of ModelStreamInfer have in common. The derived class encodes and sends, in Complete,
/// which any thread may call; it then calls Replied, and hands the bytes to gRPC. Once their event has come, on the
/// queue's thread, it calls Conclude. Everything else happens on the queue's thread.
///
/// Invariant: from an OK Start until the reply's event the scheduler or gRPC may hold a pointer to this object; Cancel
/// is called on the thread that would reuse it, so that it can never come too late.
class InferRequest : public Request, private Mail {
 public:
  explicit InferRequest(CallQueue* queue) : queue_(queue) {}

  /// Decodes the message and submits the request; the bytes are not needed afterwards. OK: Complete will be called, or
  /// has been. Otherwise it will not, and the caller replies with the error.
  absl::Status Start(const grpc::ByteBuffer& bytes, Nanos call_deadline);
  /// Drops the request if it can still be dropped. Harmless at any time between Start and Conclude.
  void CancelRequest();

  absl::Status CopyInput(int input, std::size_t offset, std::size_t bytes, void* destination) final;
  void InputsCopied() final;
  void Placed() final;

 protected:
  const InferMessage& message() const { return message_; }
  CallQueue& queue() const { return *queue_; }

  /// To be called with the result, when encoding begins, and when the reply is ready. Any one thread.
  void EncodeBegins();
  void Replied(absl::StatusCode code);
  /// Counts the request, gives its budget back, and makes the object ready for the next. `sent`: the reply has left.
  void Conclude(bool sent);
  /// Whether the last message has left behind so much memory that the object had better not be kept.
  bool oversized() const { return oversized_; }

 private:
  void Deliver() final;
  absl::Status Decode(const grpc::ByteBuffer& bytes);
  void FillRequest(Nanos call_deadline);
  void Record(absl::StatusCode code) const;
  std::optional<std::uint32_t> OperatorIndex() const;

  CallQueue* const queue_;
  InferMessage message_;
  bool admitted_ = false;
  bool oversized_ = false;

  Nanos began_ = 0;
  Nanos decoded_ = 0;
  // Written by the thread that replies, read by the queue's: gRPC's queue lies between, `replied_` says so in our own
  // code, too.
  Nanos encode_began_ = 0;
  Nanos reply_ready_ = 0;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::atomic<bool> replied_{false};
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_RPC_INFER_REQUEST_H_
