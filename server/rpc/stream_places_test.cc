#include "server/rpc/stream_places.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batch/retry_hint.h"

namespace kernelwire {
namespace {

using Peer = PeerCounts::Peer;

std::string ProblemOf(StreamPlaces* places, Peer* peer) {
  const absl::Status taken = places->Take(peer);
  EXPECT_TRUE(taken.ok() || taken.code() == absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryHintOf(taken).has_value(), !taken.ok());
  return std::string(taken.message());
}

/// Takes what `peer` can have.
void TakeAll(StreamPlaces* places, Peer* peer) {
  while (places->Take(peer).ok()) {
  }
}

TEST(StreamPlacesTest, OneConnectionLeavesAQuarterToOthers) {
  StreamPlaces places(64, &Peer::streams, "streams at once: --max_streams");
  Peer peer;
  TakeAll(&places, &peer);
  EXPECT_EQ(peer.streams, 48u);
  EXPECT_EQ(peer.watches, 0u);
  EXPECT_EQ(ProblemOf(&places, &peer),
            "this connection has its limit of 48 (its share of 64 streams at once: --max_streams)");
  std::vector<Peer> others(3);
  for (Peer& other : others) {
    EXPECT_EQ(ProblemOf(&places, &other), "");
  }
}

TEST(StreamPlacesTest, TheLastPlaceIsTakenAndGivenBack) {
  StreamPlaces places(2, &Peer::watches, "watches");
  Peer first, second, third;
  EXPECT_EQ(ProblemOf(&places, &first), "");
  EXPECT_EQ(ProblemOf(&places, &second), "");
  EXPECT_EQ(ProblemOf(&places, &third), "the server has its limit of 2 (watches)");
  places.GiveBack(&first);
  EXPECT_EQ(first.watches, 0u);
  EXPECT_EQ(ProblemOf(&places, &third), "");
}

TEST(StreamPlacesTest, UnixSocketsHaveNoShare) {
  StreamPlaces places(3, &Peer::streams, "streams");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ProblemOf(&places, nullptr), "");
  }
  EXPECT_EQ(ProblemOf(&places, nullptr), "the server has its limit of 3 (streams)");
  places.GiveBack(nullptr);
  EXPECT_EQ(ProblemOf(&places, nullptr), "");
}

TEST(StreamPlacesTest, NoneAtAll) {
  StreamPlaces places(0, &Peer::streams, "streams");
  Peer peer;
  EXPECT_EQ(ProblemOf(&places, &peer), "the server has its limit of 0 (streams)");
}

}  // namespace
}  // namespace kernelwire
