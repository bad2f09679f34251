#include "server/rpc/read_turns.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iostream>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/rpc/may_take_place.h"

namespace kernelwire {

/// Calls of connections, which do nothing but wait and hold places.
class ReadTurnsTest : public ::testing::Test {
 protected:
  using Peer = PeerCounts::Peer;

  /// A call of `peer` that would read. Whether it or others may, Admit says.
  Call* Enter(ReadTurns* turns, Peer* peer) {
    Call* const call = &calls_.emplace_back(nullptr);
    call->peer_ = peer;
    turns->Enter(call);
    return call;
  }
  void EnterMany(ReadTurns* turns, Peer* peer, int count) {
    for (int i = 0; i < count; ++i) {
      Enter(turns, peer);
      Admit(turns);
    }
  }
  /// Those that begin to read now.
  static std::vector<Call*> Admit(ReadTurns* turns) {
    std::vector<Call*> admitted;
    while (Call* const call = turns->Next()) {
      admitted.push_back(call);
    }
    return admitted;
  }
  /// The one that has read for longest ends.
  static std::vector<Call*> EndOldest(ReadTurns* turns) {
    turns->Leave(turns->oldest());
    return Admit(turns);
  }
  static Peer* PeerOf(const Call* call) { return call->peer_; }

 private:
  std::deque<Call> calls_;
};

namespace {

using Calls = std::vector<Call*>;

constexpr auto kReading = &PeerCounts::Peer::reading;

TEST_F(ReadTurnsTest, OneConnectionAloneHasThreeQuarters) {
  for (const std::size_t places : {4u, 8u, 32u, 64u}) {
    ReadTurns turns(places, kReading, 3);
    Peer peer;
    EnterMany(&turns, &peer, 100);
    EXPECT_EQ(peer.reading.held, places * 3 / 4) << places;
  }
}

TEST_F(ReadTurnsTest, TheOnlyPlaceIsForWhoeverComes) {
  ReadTurns turns(1, kReading, 3);
  Peer peer, other;
  Call* const first = Enter(&turns, &peer);
  EXPECT_EQ(Admit(&turns), Calls{first});
  EXPECT_TRUE(turns.IsReading(first));
  EnterMany(&turns, &peer, 3);
  Call* const newcomer = Enter(&turns, &other);
  EXPECT_TRUE(Admit(&turns).empty());
  EXPECT_TRUE(turns.IsWaiting(newcomer));
  EXPECT_EQ(EndOldest(&turns).size(), 1u);  // they held nothing either, and came before
  EXPECT_EQ(EndOldest(&turns), Calls{newcomer});
}

TEST_F(ReadTurnsTest, NobodyWaitsBehindOneThatIsSilent) {
  ReadTurns turns(32, kReading, 3);
  Peer silent, other;
  EnterMany(&turns, &silent, 300);
  for (int i = 0; i < 10; ++i) {
    Call* const call = Enter(&turns, &other);
    EXPECT_EQ(Admit(&turns), Calls{call});
    turns.Leave(call);
    EXPECT_TRUE(Admit(&turns).empty());  // its place stays free for the next
  }
}

TEST_F(ReadTurnsTest, AfterTheFirstTurnNobodyWaitsBehindManyThatAreSilent) {
  ReadTurns turns(64, kReading, 3);
  std::vector<Peer> silent(8);
  for (Peer& peer : silent) {
    EnterMany(&turns, &peer, 300);
  }
  Peer other;
  Call* const first = Enter(&turns, &other);
  EXPECT_TRUE(Admit(&turns).empty());  // four of them had all places before they knew of each other
  for (int i = 0; i < 4; ++i) {
    EndOldest(&turns);  // to the four that have none either
  }
  EXPECT_EQ(EndOldest(&turns), Calls{first});
  for (int i = 5; i < 64; ++i) {
    EndOldest(&turns);
  }
  turns.Leave(first);
  Admit(&turns);
  for (int i = 0; i < 100; ++i) {
    EndOldest(&turns);
    Call* const call = Enter(&turns, &other);
    EXPECT_EQ(Admit(&turns), Calls{call});
    turns.Leave(call);
    Admit(&turns);
  }
}

TEST_F(ReadTurnsTest, ConnectionsWithAsManyPlacesTakeTurns) {
  ReadTurns turns(1, kReading, 3);
  Peer holder;
  EnterMany(&turns, &holder, 1);
  std::vector<Peer> peers(3);
  for (Peer& peer : peers) {
    EnterMany(&turns, &peer, 2);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const Calls admitted = EndOldest(&turns);
    ASSERT_EQ(admitted.size(), 1u);
    EXPECT_EQ(PeerOf(admitted[0]), &peers[i % 3]);
  }
}

TEST_F(ReadTurnsTest, CallsOverUnixSocketsAreAsOfOneConnection) {
  ReadTurns turns(4, kReading, 3);
  EnterMany(&turns, nullptr, 10);
  Peer peer;
  Call* const call = Enter(&turns, &peer);
  EXPECT_EQ(Admit(&turns), Calls{call});
}

TEST_F(ReadTurnsTest, WhoStopsWaitingIsForgotten) {
  ReadTurns turns(1, kReading, 3);
  Peer peer, other;
  EnterMany(&turns, &peer, 1);
  Call* const given_up = Enter(&turns, &other);
  Call* const last = Enter(&turns, &other);
  turns.StopWaiting(given_up);
  EXPECT_FALSE(turns.IsWaiting(given_up));
  EXPECT_EQ(EndOldest(&turns), Calls{last});
  EXPECT_TRUE(EndOldest(&turns).empty());
  EXPECT_EQ(turns.oldest(), nullptr);
}

/// Some call comes, ends its read, or gives up waiting.
class RandomReadTurnsTest : public ReadTurnsTest, public ::testing::WithParamInterface<std::pair<int, int>> {
 protected:
  void Step(ReadTurns* turns) {
    if (alive_.empty() || random_() % 2 == 0) {
      alive_.push_back(Enter(turns, &peers_[random_() % peers_.size()]));
    } else {
      std::swap(alive_[random_() % alive_.size()], alive_.back());
      Call* const call = alive_.back();
      alive_.pop_back();
      turns->IsReading(call) ? turns->Leave(call) : turns->StopWaiting(call);
    }
    Admit(turns);
  }
  std::size_t Held() const {
    std::size_t held = 0;
    for (const Peer& peer : peers_) {
      held += peer.reading.held;
    }
    return held;
  }
  bool SomebodyWaitsWhoMayRead(std::size_t free, std::size_t factor) const {
    return std::any_of(peers_.begin(), peers_.end(), [free, factor](const Peer& peer) {
      return !peer.reading.waiting.empty() && MayTakePlace(peer.reading.held, free, factor);
    });
  }

  static constexpr unsigned kSeed = 20261129;

 private:
  std::mt19937 random_{kSeed};
  std::vector<Peer> peers_{6};
  Calls alive_;
};

TEST_P(RandomReadTurnsTest, NobodyWaitsWhoMayRead) {
  std::cout << "seed " << kSeed << "\n";
  const auto places = static_cast<std::size_t>(GetParam().first);
  const auto factor = static_cast<std::size_t>(GetParam().second);
  ReadTurns turns(places, kReading, factor);
  for (int step = 0; step < 5000; ++step) {
    Step(&turns);
    ASSERT_LE(Held(), places) << "step " << step;
    ASSERT_FALSE(SomebodyWaitsWhoMayRead(places - Held(), factor)) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(PlacesAndFactors, RandomReadTurnsTest,
                         ::testing::Values(std::pair(1, 3), std::pair(8, 1), std::pair(5, 3), std::pair(32, 3)));

}  // namespace
}  // namespace kernelwire
