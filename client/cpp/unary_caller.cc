#include "client/cpp/unary_caller.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <random>

#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"

namespace kernelwire::client {
namespace {

constexpr std::chrono::nanoseconds kLongestTimeout = std::chrono::hours(24 * 365);

double Chance() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

// Anything but a number means "do not repeat", as a negative number does.
Status::RetryAfter RetryHintOf(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find("grpc-retry-pushback-ms");
  if (found == trailers.end()) {
    return std::nullopt;
  }
  const char* end = found->second.data() + found->second.size();
  std::int64_t milliseconds = 0;
  const std::from_chars_result parsed = std::from_chars(found->second.data(), end, milliseconds);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    milliseconds = -1;
  }
  return std::chrono::milliseconds(milliseconds);
}

// Instead of a sleep: whatever the channel's connection does meanwhile is seen to (see AwaitReconnection).
void PollUntil(SteadyTime end, grpc::Channel& channel) {
  while (channel.WaitForStateChange(channel.GetState(true), OnSystemClock(end))) {
  }
}

}  // namespace

SteadyTime DeadlineAfter(std::chrono::nanoseconds timeout) {
  return std::chrono::steady_clock::now() + std::min(timeout, kLongestTimeout);
}

std::chrono::system_clock::time_point OnSystemClock(SteadyTime time) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(time - std::chrono::steady_clock::now());
}

Status StatusOf(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.ok()) {
    return Status();
  }
  return Status(static_cast<StatusCode>(status.error_code()), status.error_message(), RetryHintOf(context));
}

void AwaitReconnection(grpc::Channel& channel, std::chrono::nanoseconds longest) {
  if (channel.GetState(true) == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    // The wait has a completion queue of its own, so that no call's event can come of it.
    channel.WaitForStateChange(GRPC_CHANNEL_TRANSIENT_FAILURE, OnSystemClock(DeadlineAfter(longest)));
  }
}

UnaryCaller::UnaryCaller(ChannelSet& channels) : channel_(channels.Next()) {}

UnaryCaller::~UnaryCaller() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

Status UnaryCaller::Attempt(const std::string& method, const grpc::ByteBuffer& request, SteadyTime deadline,
                            grpc::ByteBuffer* reply) {
  grpc::ClientContext context;
  context.set_deadline(OnSystemClock(deadline));
  grpc::Status status;
  const auto call = grpc::GenericStub(channel_).PrepareUnaryCall(&context, method, request, &queue_);
  call->StartCall();
  call->Finish(reply, &status, this);
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);  // the only event there is: the call's end, which its deadline guarantees
  return StatusOf(status, context);
}

Status UnaryCaller::Call(const std::string& method, const grpc::ByteBuffer& request, SteadyTime deadline,
                         const RetryPolicy& policy, grpc::ByteBuffer* reply) {
  const std::chrono::nanoseconds remaining = deadline - std::chrono::steady_clock::now();
  AwaitReconnection(*channel_, std::min(kReconnectionWait, remaining / 2));  // half: the call is still to say why
  for (int attempts = 1;; ++attempts) {
    Status status = Attempt(method, request, deadline, reply);
    if (status.ok()) {
      return status;
    }
    const auto delay =
        NextAttemptDelay(policy, status, attempts, deadline - std::chrono::steady_clock::now(), Chance());
    if (!delay.has_value()) {
      return status;
    }
    PollUntil(DeadlineAfter(*delay), *channel_);
  }
}

void UnaryCaller::AwaitRelease(const std::atomic<bool>& released) {
  void* tag = nullptr;
  bool ok = false;
  while (!released.load(std::memory_order_acquire)) {
    // No event can come; polling is what lets the transport finish its writes.
    queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + std::chrono::milliseconds(1));
  }
}

}  // namespace kernelwire::client
