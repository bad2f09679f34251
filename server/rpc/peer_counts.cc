#include "server/rpc/peer_counts.h"

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"

namespace kernelwire {

std::uint64_t PeerCounts::PeerOf(grpc_call* call) {
  char* const peer = grpc_call_get_peer(call);  // not ServerContext::peer(), which copies it once more
  const std::uint64_t hash = absl::HashOf(absl::string_view(peer));
  gpr_free(peer);
  return hash;
}

void PeerCounts::Remove(std::uint64_t peer) {
  const auto found = counts_.find(peer);
  if (--found->second > 0) {
    return;
  }
  if (++idle_ <= kSweepAbove) {
    return;
  }
  idle_ = 0;
  if (counts_.size() > kSweepAbove) {
    absl::erase_if(counts_, [](const auto& entry) { return entry.second == 0; });
  }
}

}  // namespace kernelwire
