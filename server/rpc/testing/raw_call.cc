#include "server/rpc/testing/raw_call.h"

#include <utility>
#include <vector>

namespace kernelwire::testing {

RawCall::RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                 std::unique_ptr<grpc::ClientContext> context)
    : context_(std::move(context)), stub_(channel), stream_(stub_.PrepareCall(context_.get(), method, &queue_)) {
  stream_->StartCall(this);
  Await();
}

RawCall::~RawCall() {
  if (!finished_) {
    Cancel();
    Finish();
  }
}

bool RawCall::Write(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  stream_->Write(grpc::ByteBuffer(&slice, 1), this);
  return Await();
}

bool RawCall::WritesDone() {
  stream_->WritesDone(this);
  return Await();
}

std::optional<std::string> RawCall::Read() {
  grpc::ByteBuffer message;
  stream_->Read(&message, this);
  if (!Await()) {
    return std::nullopt;
  }
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

grpc::Status RawCall::Finish() {
  finished_ = true;
  while (Read().has_value()) {  // gRPC tells the status only when nothing is left to be read
  }
  grpc::Status status;
  stream_->Finish(&status, this);
  Await();
  return status;
}

bool RawCall::Await() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request, std::string* reply) {
  RawCall call(channel, method);
  call.Write(request);
  call.WritesDone();
  const std::optional<std::string> message = call.Read();
  if (reply != nullptr && message.has_value()) {
    *reply = *message;
  }
  return call.Finish();
}

}  // namespace kernelwire::testing
