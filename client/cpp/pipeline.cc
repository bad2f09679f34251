#include "kernelwire/pipeline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/cpp/channel_set.h"
#include "client/cpp/encoded_request.h"
#include "client/cpp/infer_codec.h"
#include "client/cpp/unary_caller.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"

namespace kernelwire::client {

// One place for a call, used again and again.
struct PipelineCall {
  std::uint64_t tag = 0;
  grpc::Channel* channel = nullptr;
  std::optional<grpc::ClientContext> context;  // engaged while outstanding
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer reply;
  grpc::Status grpc_status;
  Status status;
};

namespace {

// Between two waits for a connection: others' ends are not to wait for it more than a part of the time.
constexpr std::chrono::milliseconds kReconnectionInterval(100);

const PipelineCall& AsCall(const void* call) { return *static_cast<const PipelineCall*>(call); }

}  // namespace

struct Pipeline::State {
  std::shared_ptr<ChannelSet> channels;
  std::string method;
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<PipelineCall>> calls;
  std::vector<PipelineCall*> idle;
  PipelineCall* returned = nullptr;  // the one that the latest Completion refers to
  std::size_t outstanding = 0;
  SteadyTime next_reconnection;  // not before this is a connection waited for

  // Frees the call of the latest Completion, and with it the memory of its reply.
  void Recycle() {
    if (returned != nullptr) {
      returned->reply.Clear();
      idle.push_back(std::exchange(returned, nullptr));
    }
  }

  PipelineCall* TakeIdle() {
    if (idle.empty()) {
      idle.push_back(calls.emplace_back(std::make_unique<PipelineCall>()).get());
    }
    PipelineCall* call = idle.back();
    idle.pop_back();
    return call;
  }

  void Finish(PipelineCall* call) {
    call->status = StatusOf(call->grpc_status, *call->context);
    call->reader.reset();
    call->context.reset();
    returned = call;
    --outstanding;
  }

  // A call that fails at once leaves nothing to poll for; so this does it, within the time that Next has.
  void SeeToReconnection(const PipelineCall& failed, SteadyTime end) {
    using std::chrono::milliseconds;
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now >= next_reconnection) {
      AwaitReconnection(*failed.channel,
                        std::clamp<std::chrono::nanoseconds>(end - now, milliseconds(1), kReconnectionWait));
      next_reconnection = std::chrono::steady_clock::now() + kReconnectionInterval;
    }
  }
};

std::uint64_t Pipeline::Completion::tag() const { return AsCall(call_).tag; }
const Status& Pipeline::Completion::status() const { return AsCall(call_).status; }
std::size_t Pipeline::Completion::reply_bytes() const {
  const grpc::ByteBuffer& reply = AsCall(call_).reply;
  return reply.Valid() ? reply.Length() : 0;
}
Result<InferReply> Pipeline::Completion::Decode() const {
  const PipelineCall& call = AsCall(call_);
  return call.status.ok() ? DecodeInferReply(call.reply) : Result<InferReply>(call.status);
}

Pipeline::Pipeline(const Client& client, std::string method) : state_(std::make_unique<State>()) {
  state_->channels = client.channels_;
  state_->method = std::move(method);
}

Pipeline::~Pipeline() {
  for (const std::unique_ptr<PipelineCall>& call : state_->calls) {
    if (call->context.has_value()) {
      call->context->TryCancel();
    }
  }
  state_->queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (state_->queue.Next(&tag, &ok)) {
    state_->Finish(static_cast<PipelineCall*>(tag));
  }
}

void Pipeline::Start(const EncodedRequest& request, Timeout timeout, std::uint64_t tag) {
  PipelineCall* call = state_->TakeIdle();
  call->tag = tag;
  call->context.emplace();
  call->context->set_deadline(OnSystemClock(DeadlineAfter(timeout)));
  const std::shared_ptr<grpc::Channel>& channel = state_->channels->Next();
  call->channel = channel.get();
  call->reader = grpc::GenericStub(channel).PrepareUnaryCall(&*call->context, state_->method, request.bytes_->message,
                                                             &state_->queue);
  call->reader->StartCall();
  call->reader->Finish(&call->reply, &call->grpc_status, call);
  ++state_->outstanding;
}

std::optional<Pipeline::Completion> Pipeline::Next(std::chrono::nanoseconds wait) {
  state_->Recycle();
  if (state_->outstanding == 0) {
    return std::nullopt;
  }
  const SteadyTime end = DeadlineAfter(wait);
  void* tag = nullptr;
  bool ok = false;
  if (state_->queue.AsyncNext(&tag, &ok, OnSystemClock(end)) != grpc::CompletionQueue::GOT_EVENT) {
    return std::nullopt;
  }
  auto* call = static_cast<PipelineCall*>(tag);
  state_->Finish(call);
  if (call->status.code() == StatusCode::kUnavailable) {
    state_->SeeToReconnection(*call, end);
  }
  return Completion(call);
}

std::size_t Pipeline::outstanding() const { return state_->outstanding; }

}  // namespace kernelwire::client
