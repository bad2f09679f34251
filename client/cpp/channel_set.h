// The connections of a client: gRPC channels that do not share theirs, handed out in turn.
#ifndef KERNELWIRE_CLIENT_CHANNEL_SET_H_
#define KERNELWIRE_CLIENT_CHANNEL_SET_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"

namespace kernelwire::client {

/// Thread-safe.
class ChannelSet {
 public:
  /// Requires: connections >= 1. Connects nothing yet.
  ChannelSet(const std::string& address, int connections);

  const std::shared_ptr<grpc::Channel>& Next() {
    return channels_[next_.fetch_add(1, std::memory_order_relaxed) % channels_.size()];
  }

 private:
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_CHANNEL_SET_H_
