#include "server/rpc/server_builder.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "grpc/impl/codegen/grpc_types.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"

namespace kernelwire {
namespace {

absl::Status CheckRange(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": expected ", least, " to ", most, ", got ", value));
}

int Milliseconds(std::chrono::milliseconds duration) { return static_cast<int>(duration.count()); }

void LimitCalls(const RpcOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder->SetMaxSendMessageSize(-1);  // replies are bounded before they are computed
  // Advice for clients; calls beyond it are counted and refused by us.
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_calls_per_peer);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 * 1024);
  // A small compressed message can become a large one, which no limit bounds before it is there: none are taken.
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
}

void WatchConnections(const RpcOptions& options, grpc::ServerBuilder* builder) {
  // Find dead peers: half a minute without a sign of life, then ten seconds for an answer.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Let clients do the same: by default their connection is closed for more than one ping in five minutes.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  if (options.max_connection_idle.count() > 0) {
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(options.max_connection_idle));
  }
  if (options.max_connection_age.count() > 0) {
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(options.max_connection_age));
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(options.max_connection_age_grace));
  }
}

}  // namespace

absl::Status CheckRpcOptions(const RpcOptions& options) {
  constexpr std::int64_t kInt = std::numeric_limits<int>::max();
  if (options.addresses.empty()) {
    return absl::InvalidArgumentError("addresses: expected at least one, got none");
  }
  const struct {
    const char* name;
    std::int64_t value, least, most;
  } ranges[] = {
      {"completion_queues", options.completion_queues, 1, 64},
      {"max_message_bytes", static_cast<std::int64_t>(options.max_message_bytes), 1, kInt},
      {"max_calls", options.max_calls, 1, kInt / 2},
      {"max_calls_per_peer", options.max_calls_per_peer, 1, kInt},
      {"max_reading_calls", options.max_reading_calls, options.completion_queues, kInt},
      {"max_streams", options.max_streams, 0, kInt},
      {"max_stream_requests", options.max_stream_requests, 1, kInt},
      {"read_timeout (ms)", options.read_timeout.count(), kShortestReadTimeout.count(), kInt},
      {"armed_calls", options.armed_calls, 1, 65536},
      {"max_connection_idle (ms)", options.max_connection_idle.count(), 0, kInt},
      {"max_connection_age (ms)", options.max_connection_age.count(), 0, kInt},
      {"max_connection_age_grace (ms)", options.max_connection_age_grace.count(), 0, kInt},
  };
  for (const auto& range : ranges) {
    absl::Status status = CheckRange(range.name, range.value, range.least, range.most);
    if (!status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

void Configure(const RpcOptions& options, grpc::ServerBuilder* builder, std::vector<int>* ports) {
  LimitCalls(options, builder);
  WatchConnections(options, builder);
  if (options.memory_quota_bytes > 0) {
    builder->SetResourceQuota(grpc::ResourceQuota("kernelwire").Resize(options.memory_quota_bytes));
  }
  // Otherwise a second server could bind the same port by mistake, and take half of the calls.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  ports->assign(options.addresses.size(), 0);
  for (std::size_t i = 0; i < options.addresses.size(); ++i) {
    builder->AddListeningPort(options.addresses[i], grpc::InsecureServerCredentials(), &(*ports)[i]);
  }
}

}  // namespace kernelwire
