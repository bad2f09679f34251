// The least that a server of this gRPC can do with a call: answer with the bytes that came.
//
// It is the yardstick of the benchmarks: what kernelwire adds to a call is the difference to this one. Generic calls,
// completion queues, threads and channel arguments are those of server/rpc; there is no decoding, no counting of calls,
// no notice of cancelled ones and no reuse.
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "grpc/impl/codegen/grpc_types.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

ABSL_FLAG(std::string, address, "127.0.0.1:0", "where to listen; port 0: the system picks, and the program prints it");
ABSL_FLAG(int, completion_queues, 2, "completion queues, each with one thread");
ABSL_FLAG(int, armed_calls, 256, "calls that each queue holds ready");
ABSL_FLAG(int, max_message_bytes, 64 << 20, "limit of a request's message");

namespace {

/// One call: accept, read, write with status, gone.
class EchoCall {
 public:
  EchoCall(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue) : service_(service), queue_(queue) {
    Arm();
  }

  void Proceed(bool ok) {
    switch (step_) {
      case Step::kAccept:
        if (!ok) {
          delete this;  // the server is shutting down
          return;
        }
        step_ = Step::kRead;
        stream_->Read(&message_, this);
        return;
      case Step::kRead:
        step_ = Step::kAnswer;
        if (ok) {
          stream_->WriteAndFinish(message_, grpc::WriteOptions(), grpc::Status::OK, this);
        } else {
          stream_->Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no message"), this);
        }
        return;
      case Step::kAnswer:
        Arm();
        return;
    }
  }

 private:
  enum class Step { kAccept, kRead, kAnswer };

  void Arm() {
    step_ = Step::kAccept;
    message_.Clear();
    stream_.reset();
    context_.emplace();
    stream_.emplace(&*context_);
    service_->RequestCall(&*context_, &*stream_, queue_, queue_, this);
  }

  grpc::AsyncGenericService* const service_;
  grpc::ServerCompletionQueue* const queue_;
  Step step_ = Step::kAccept;
  std::optional<grpc::GenericServerContext> context_;
  std::optional<grpc::GenericServerAsyncReaderWriter> stream_;
  grpc::ByteBuffer message_;
};

void Serve(grpc::ServerCompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    static_cast<EchoCall*>(tag)->Proceed(ok);
  }
}

}  // namespace

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // for all threads: main waits for them

  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(absl::GetFlag(FLAGS_address), grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(absl::GetFlag(FLAGS_max_message_bytes));
  builder.SetMaxSendMessageSize(-1);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1024);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  grpc::AsyncGenericService service;
  builder.RegisterAsyncGenericService(&service);
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  for (int i = 0; i < absl::GetFlag(FLAGS_completion_queues); ++i) {
    queues.push_back(builder.AddCompletionQueue());
  }
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "cannot listen on %s\n", absl::GetFlag(FLAGS_address).c_str());
    return 1;
  }
  std::vector<std::thread> threads;
  for (const auto& queue : queues) {
    for (int i = 0; i < absl::GetFlag(FLAGS_armed_calls); ++i) {
      new EchoCall(&service, queue.get());  // deletes itself
    }
    threads.emplace_back(Serve, queue.get());
  }
  std::printf("echo listens on port %d\n", port);
  std::fflush(stdout);

  int signal_number = 0;
  sigwait(&stop, &signal_number);
  server->Shutdown(std::chrono::system_clock::now());
  for (const auto& queue : queues) {
    queue->Shutdown();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return 0;
}
