#include "group/blame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>

#include "base/random.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

enum class Fault { kStopped, kOutside, kWorking, kDead, kCircle };

// Ranks of which one is at fault and the others wait, directly or not, for it. Messages between two ranks
// keep their order and take some time.
class Scene {
 public:
  Scene(std::uint64_t seed, std::uint32_t ranks, Fault fault) : random_(seed), ranks_(ranks), fault_(fault) {
    guilty_ = below(ranks);
    std::vector<std::uint32_t> order;  // Each waits for one that comes before it.
    for (std::uint32_t rank = 0; rank < ranks; ++rank) order.push_back(rank);
    for (std::uint32_t i = ranks; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    std::swap(*std::find(order.begin(), order.end(), guilty_), order[0]);
    const bool ring = below(2) == 0;
    doing_.resize(ranks);
    for (std::uint32_t i = 0; i < ranks; ++i) {
      const std::uint32_t before = i == 0 ? 0 : ring ? i - 1 : below(i);
      doing_[order[i]] = {Doing::Kind::kWaiting, order[before], "all-reduce #7, step 3"};
      blames_.emplace_back(i, ranks, 1s);
      accuses_at_.push_back({static_cast<std::int64_t>(below(2000)) * 1'000'000});
    }
    if (fault == Fault::kOutside) doing_[guilty_].kind = Doing::Kind::kOutside;
    if (fault == Fault::kWorking) doing_[guilty_].kind = Doing::Kind::kWorking;
    if (fault == Fault::kCircle) {
      circle_ = 2 + below(ranks - 1);  // The first so many wait for each other.
      doing_[order[0]].waits_for = order[circle_ - 1];
      for (std::uint32_t i = 1; i < circle_; ++i) doing_[order[i]].waits_for = order[i - 1];
      guilty_ = *std::min_element(order.begin(), order.begin() + circle_);
    }
    dies_at_ = {static_cast<std::int64_t>(below(5000)) * 1'000'000};
  }

  void run() {
    for (Instant now{}; now < Instant{} + 12s; now = now + 1ms) {
      if (fault_ == Fault::kDead && !dead_ && now >= dies_at_) die(now);
      deliver(now);
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (asleep(rank)) continue;
        Blame& blame = blames_[rank];
        if (now >= accuses_at_[rank] && !accused(rank)) blame.accuse(now, doing_[rank]);
        if (now >= blame.next_deadline()) blame.on_time(now);
        post(now, rank);
        // An operation that has failed is over.
        if (blame.verdict()) doing_[rank] = {Doing::Kind::kOutside, 0, "since all-reduce #7"};
      }
    }
  }

  std::uint32_t guilty() const { return guilty_; }
  // Ranks that should know who it was.
  std::vector<const Blame*> witnesses() const {
    std::vector<const Blame*> all;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if (!asleep(rank)) all.push_back(&blames_[rank]);
    }
    return all;
  }

 private:
  struct Letter {
    Instant due;
    Bytes message;  // Empty: the connection's end.
  };

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.next() % limit); }
  bool asleep(std::uint32_t rank) const { return rank == guilty_ && (dead_ || fault_ == Fault::kStopped); }
  bool accused(std::uint32_t rank) {
    if (doing_[rank].kind != Doing::Kind::kWaiting) return true;
    return std::exchange(accuses_at_[rank], kNever) == kNever;
  }
  Instant some_time_after(Instant now) {
    return now + std::chrono::microseconds(below(fault_ == Fault::kDead ? 3000 : 20'000));
  }

  void post(Instant now, std::uint32_t from) {
    for (Blame::Outgoing& out : blames_[from].take_outgoing()) {
      letters_[{from, out.to}].push_back({some_time_after(now), std::move(out.message)});
    }
  }
  // Some of what it had sent is lost with it.
  void die(Instant now) {
    dead_ = true;
    for (std::uint32_t peer = 0; peer < ranks_; ++peer) {
      auto& letters = letters_[{guilty_, peer}];
      letters.resize(letters.size() - below(static_cast<std::uint32_t>(letters.size()) + 1));
      letters.push_back({some_time_after(now), {}});
    }
  }
  void deliver(Instant now) {
    for (auto& [way, letters] : letters_) {
      const auto [from, to] = way;
      while (!letters.empty() && letters.front().due <= now) {
        const Letter letter = std::move(letters.front());
        letters.pop_front();
        if (asleep(to)) continue;
        if (letter.message.empty()) {
          blames_[to].on_lost(from, "the connection was closed");
        } else {
          blames_[to].on_message(now, from, letter.message.span(), doing_[to]);
        }
        post(now, to);
      }
    }
  }

  Random random_;
  std::uint32_t ranks_;
  Fault fault_;
  std::uint32_t guilty_ = 0;
  std::uint32_t circle_ = 0;
  Instant dies_at_{};
  bool dead_ = false;
  std::vector<Doing> doing_;
  std::vector<Blame> blames_;
  std::vector<Instant> accuses_at_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Letter>> letters_;
};

class Scenes : public testing::TestWithParam<Fault> {};

TEST_P(Scenes, AllRanksNameTheGuiltyOne) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto ranks = static_cast<std::uint32_t>(2 + seed % 11);
    Scene scene(seed, ranks, GetParam());
    scene.run();
    for (const Blame* blame : scene.witnesses()) {
      ASSERT_TRUE(blame->verdict()) << "seed " << seed;
      ASSERT_EQ(blame->verdict()->guilty, scene.guilty())
          << "seed " << seed << ": " << blame->verdict()->status.message();
      ASSERT_NE(blame->verdict()->status.message().find("rank " + std::to_string(scene.guilty())),
                std::string::npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Blame, Scenes,
                         testing::Values(Fault::kStopped, Fault::kOutside, Fault::kWorking, Fault::kDead,
                                         Fault::kCircle));

const Doing kWaitsFor1{Doing::Kind::kWaiting, 1, "all-reduce #1"};

TEST(Blame, OneThatLeftIsNotLostButToBlameWhenWaitedFor) {
  Blame leaver(1, 3, 1s), blame(0, 3, 1s);
  leaver.leave();
  for (const auto& out : leaver.take_outgoing()) {
    if (out.to == 0) blame.on_message({}, 1, out.message.span(), {});
  }
  blame.on_lost(1, "the connection was closed");
  EXPECT_FALSE(blame.verdict());
  blame.accuse({}, kWaitsFor1);
  ASSERT_TRUE(blame.verdict());
  EXPECT_EQ(blame.verdict()->status, Status(Code::kPeerLost, "rank 1 has left the group"));
}

TEST(Blame, WhatMakesNoSenseIsIgnored) {
  Blame blame(0, 3, 1s);
  blame.accuse({}, kWaitsFor1);
  for (std::size_t size = 0; size < 40; ++size) {
    for (unsigned first = 0; first < 8; ++first) {
      if (size == 1 && first == 4) continue;  // A goodbye.
      std::vector<std::byte> noise(size, std::byte{0xff});
      if (size > 0) noise[0] = static_cast<std::byte>(first);
      blame.on_message({}, 1, noise, {});
      EXPECT_FALSE(blame.verdict()) << size << " bytes of kind " << first;
    }
  }
}

TEST(Blame, TheFirstVerdictStaysAndTravels) {
  Blame blame(0, 3, 1s), other(2, 3, 1s);
  blame.give_up({0, {Code::kRefused, "rank 0 calls something else"}});
  for (const auto& out : blame.take_outgoing()) {
    if (out.to == 2) other.on_message({}, 0, out.message.span(), {});
  }
  other.on_lost(1, "the connection was closed");
  ASSERT_TRUE(other.verdict());
  EXPECT_EQ(other.verdict()->guilty, 0U);
  EXPECT_EQ(other.verdict()->status.code(), Code::kRefused);
}

}  // namespace
}  // namespace thalweg
