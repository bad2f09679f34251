#include "server/rpc/peer_counts.h"

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"

namespace kernelwire {

PeerCounts::Peer* PeerCounts::Add(grpc_call* call) {
  char* const text = grpc_call_get_peer(call);  // not ServerContext::peer(), which copies it once more
  const absl::string_view address(text);
  const bool known = !absl::StartsWith(address, "unix:") && !absl::StartsWith(address, "unix-abstract:");
  const std::uint64_t hash = absl::HashOf(address);
  gpr_free(text);
  if (!known) {
    return nullptr;
  }
  std::unique_ptr<Peer>& peer = peers_[hash];
  if (peer == nullptr) {
    peer = std::make_unique<Peer>();
  }
  ++peer->calls;
  return peer.get();
}

void PeerCounts::Remove(Peer* peer) {
  if (peer == nullptr || --peer->calls > 0) {
    return;
  }
  if (++idle_ <= kSweepAbove) {
    return;
  }
  idle_ = 0;
  if (peers_.size() > kSweepAbove) {
    absl::erase_if(peers_, [](const auto& entry) { return entry.second->calls == 0; });
  }
}

}  // namespace kernelwire
