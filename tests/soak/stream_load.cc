#include "tests/soak/stream_load.h"

#include <memory>
#include <optional>
#include <string>

#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "open_inference.pb.h"

namespace kernelwire::soak {
namespace {

class StreamCaller {
 public:
  StreamCaller(LoadState* state, std::size_t channel)
      : state_(state), stub_(state->channels[channel % state->channels.size()]) {
    ++state_->alive;
  }

  void Open();

 private:
  /// An event that runs one method of its caller.
  class Step final : public Event {
   public:
    Step(StreamCaller* caller, void (StreamCaller::*method)(bool)) : caller_(caller), method_(method) {}
    void Happened(bool ok) override { (caller_->*method_)(ok); }

   private:
    StreamCaller* const caller_;
    void (StreamCaller::*const method_)(bool);
  };

  void Started(bool ok) {
    --pending_;
    if (ok) {
      Read();
      WriteNext();
    } else {
      ended_ = true;
    }
    FinishIfDone();
  }

  void Read() {
    ++pending_;
    stream_->Read(&reply_, &read_);
  }

  void WriteNext() {
    if (writing_ || ended_ || closed_ || in_flight_ == kStreamWindow) {
      return;
    }
    if (left_ == 0 || !state_->Take()) {
      closed_ = writing_ = true;
      ++pending_;
      stream_->WritesDone(&written_);
      return;
    }
    --left_;
    ++in_flight_;
    // What a cancelled stream sends is all good, so that only one outcome of a lost reply is in doubt.
    const PreparedRequest* request = cancel_at_ >= 0 ? state_->mix->NextGood() : state_->mix->NextOfStream();
    ++sent_[request->outcome];
    writing_ = true;
    ++pending_;
    stream_->Write(request->bytes, &written_);
    if (left_ == cancel_at_) {
      context_->TryCancel();
    }
  }

  void Written(bool ok) {
    --pending_;
    writing_ = false;
    ended_ = ended_ || !ok;
    WriteNext();
    FinishIfDone();
  }

  void WasRead(bool ok) {
    --pending_;
    if (!ok) {
      ended_ = true;
      FinishIfDone();
      return;
    }
    --in_flight_;
    inference::ModelStreamInferResponse reply;
    grpc::ProtoBufferReader reader(&reply_);
    if (!reply.ParseFromZeroCopyStream(&reader)) {
      reply.set_error_message("the reply is no such message");
    }
    ++(reply.error_message().empty() ? answers_ : errors_);
    last_error_ = reply.error_message();
    Read();
    WriteNext();
  }

  void FinishIfDone() {
    if (ended_ && pending_ == 0) {
      stream_->Finish(&status_, &finished_);
    }
  }

  void Finished(bool) {
    Settle();
    in_flight_ = 0;
    Open();
  }

  /// A stream's errors carry no code, but each request is known to be good or to be refused with a certain one.
  void Settle();

  LoadState* const state_;
  grpc::GenericStub stub_;
  Step started_{this, &StreamCaller::Started};
  Step read_{this, &StreamCaller::WasRead};
  Step written_{this, &StreamCaller::Written};
  Step finished_{this, &StreamCaller::Finished};

  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
  int left_ = 0;        // requests of this stream
  int cancel_at_ = -1;  // the value of left_ at which the stream is cancelled
  int in_flight_ = 0;
  int pending_ = 0;  // events that will come
  bool writing_ = false;
  bool closed_ = false;  // our half
  bool ended_ = false;   // nothing will come any more
  std::map<std::string, std::int64_t> sent_;
  std::int64_t answers_ = 0;
  std::int64_t errors_ = 0;
  std::string last_error_;
};

void StreamCaller::Open() {
  if (state_->to_start == 0) {
    --state_->alive;
    delete this;
    return;
  }
  left_ = 100 + static_cast<int>(state_->mix->Uniform(900));
  cancel_at_ = state_->mix->Uniform(16) == 0 ? left_ / 2 : -1;
  stream_.reset();  // lives in memory of its context
  context_.emplace();
  stream_ = stub_.PrepareCall(&*context_, "/inference.GRPCInferenceService/ModelStreamInfer", &state_->queue);
  ended_ = closed_ = false;
  pending_ = 1;
  stream_->StartCall(&started_);
}

void StreamCaller::Settle() {
  Tally& tally = *state_->tally;
  const std::int64_t good = sent_["OK"];
  std::int64_t sent = 0;
  for (const auto& [code, count] : sent_) {
    sent += count;
  }
  if (cancel_at_ >= 0 && !status_.ok()) {
    tally.given_up += sent + 1;  // replies on their way were lost; the stream itself counts as cancelled
    tally.given_up_ok += answers_;
  } else {
    for (const auto& [code, count] : sent_) {
      tally.by_code[code] += count;
    }
    if (!status_.ok() || answers_ != good || errors_ != sent - good) {
      if (tally.wrong++ == 0) {
        tally.first_wrong = "stream: " + std::to_string(answers_) + " answers and " + std::to_string(errors_) +
                            " errors to " + std::to_string(good) + " good and " + std::to_string(sent - good) +
                            " malformed requests; status '" + status_.error_message() + "', last error '" +
                            last_error_ + "'";
      }
    }
  }
  sent_.clear();
  answers_ = errors_ = 0;
}

}  // namespace

void StartStreamCaller(LoadState* state, std::size_t channel) {
  (new StreamCaller(state, channel))->Open();  // deletes itself
}

}  // namespace kernelwire::soak
