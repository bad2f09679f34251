#include "tests/soak/load.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "kernelwire/status.h"
#include "tests/soak/stream_load.h"

namespace kernelwire::soak {
namespace {

/// Long enough for any call on a busy machine; a call that reaches it is counted as wrong.
constexpr auto kDeadline = std::chrono::seconds(60);

/// One unary call after the other, while the load lasts.
class UnaryCaller final : public Event {
 public:
  UnaryCaller(LoadState* state, std::size_t channel)
      : state_(state), stub_(state->channels[channel % state->channels.size()]) {
    ++state_->alive;
  }

  void Start();

  void Happened(bool) override {
    Count();
    Start();
  }

 private:
  /// At once, or after a moment in which the server may have begun with it.
  void CancelSoon() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(state_->mix->Uniform(300));
    while (std::chrono::steady_clock::now() < until) {
    }
    context_->TryCancel();
  }

  void Count() {
    const std::string code = client::NameOf(static_cast<client::StatusCode>(status_.error_code()));
    if (draw_.ending == Ending::kNormal) {
      state_->tally->Count(draw_.request->outcome, code, status_.error_message());
    } else {
      ++state_->tally->given_up;
      state_->tally->given_up_ok += status_.ok() ? 1 : 0;
    }
    reply_.Clear();
  }

  LoadState* const state_;
  grpc::GenericStub stub_;
  Draw draw_{};
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
};

void UnaryCaller::Start() {
  if (!state_->Take()) {
    --state_->alive;
    delete this;
    return;
  }
  draw_ = state_->mix->Next();
  reader_.reset();  // lives in memory of its context
  context_.emplace();
  std::chrono::nanoseconds timeout = kDeadline;
  if (draw_.ending == Ending::kTinyDeadline) {
    timeout = std::chrono::microseconds(50 + state_->mix->Uniform(2000));
  }
  context_->set_deadline(std::chrono::system_clock::now() + timeout);
  reader_ = stub_.PrepareUnaryCall(&*context_, "/inference.GRPCInferenceService/ModelInfer", draw_.request->bytes,
                                   &state_->queue);
  reader_->StartCall();
  reader_->Finish(&reply_, &status_, this);
  if (draw_.ending == Ending::kCancelled) {
    CancelSoon();
  }
}

}  // namespace

Load::Load(const std::string& address, const LoadOptions& options, RequestMix* mix, Tally* tally) : options_(options) {
  state_.mix = mix;
  state_.tally = tally;
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);             // every call is counted once
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection each
  for (int i = 0; i < options.connections; ++i) {
    state_.channels.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    if (!state_.channels.back()->WaitForConnected(std::chrono::system_clock::now() + kDeadline)) {
      std::fprintf(stderr, "nobody answers at %s\n", address.c_str());
      std::exit(1);
    }
  }
}

Load::~Load() {
  state_.queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (state_.queue.Next(&tag, &ok)) {
  }
}

void Load::Run(std::int64_t requests) {
  state_.to_start = requests;
  for (int i = 0; i < options_.unary_callers; ++i) {
    (new UnaryCaller(&state_, static_cast<std::size_t>(i)))->Start();  // deletes itself
  }
  for (int i = 0; i < options_.streams; ++i) {
    StartStreamCaller(&state_, static_cast<std::size_t>(i));
  }
  void* tag = nullptr;
  bool ok = false;
  // The callers end one by one as they find nothing left to start.
  while (state_.alive > 0 && state_.queue.Next(&tag, &ok)) {
    static_cast<Event*>(tag)->Happened(ok);
  }
}

}  // namespace kernelwire::soak
