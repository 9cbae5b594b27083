#include "train/algorithm/pairing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>
#include <string>

#include "base/cases_for_test.h"
#include "train/algorithm/mixing.h"

namespace thalweg {
namespace {

TEST(Pairing, JoinsAllShardsOfAnyGraphByPairsOfBothKinds) {
  for (const char* graph : {"ring", "torus", "exponential", "complete"}) {
    for (const std::uint32_t shards : {1u, 2u, 3u, 5u, 8u, 12u, 25u}) {
      const auto mixing = mixing_matrix(graph, shards);
      ASSERT_TRUE(mixing);
      std::vector<Pairing> all;
      for (std::uint32_t s = 0; s < shards; ++s) all.emplace_back(mixing->weights, shards, s, 1);
      const auto asking =
          std::count_if(all.begin(), all.end(), [](const Pairing& one) { return one.asks(); });
      EXPECT_LE(std::abs(2 * asking - static_cast<int>(shards)), 1) << graph;
      std::set<std::uint32_t> joined = {0};
      for (std::uint32_t round = 0; round < shards; ++round) {
        for (std::uint32_t s = 0; s < shards; ++s) {
          for (const std::uint32_t other : all[s].partners()) {
            EXPECT_NE(all[s].asks(), all[other].asks());
            EXPECT_GT((*mixing)(s, other), 0);
            if (joined.contains(s)) joined.insert(other);
          }
        }
      }
      EXPECT_EQ(joined.size(), shards) << graph;
    }
  }
}

TEST(Pairing, MakesBothTheirMean) {
  std::vector<float> mine = {1, 2}, asker = {5, -2}, message = asker;
  meet(mine, message);
  for (std::size_t i = 0; i < asker.size(); ++i) asker[i] -= message[i];
  EXPECT_EQ(mine, (std::vector<float>{3, 0}));
  EXPECT_EQ(asker, mine);
}

// Shards and messages take turns by chance; whoever can go on may be next. Rows are whole numbers times a
// power of two, so that sums are exact.
class Schedule {
 public:
  Schedule(std::uint32_t shards, std::span<const double> mixing, std::uint64_t seed) : random_(seed) {
    for (std::uint32_t s = 0; s < shards; ++s) {
      Shard& shard = shards_.emplace_back(Pairing(mixing, shards, s, seed));
      shard.row = static_cast<float>(s) * 1024;
      shard.steps = static_cast<std::uint32_t>(random_.below(4));
      links_.emplace_back(shards);
    }
  }
  // "" once the passes are over, or who stands still.
  std::string run(int passes) {
    const double sum = total();
    for (int pass = 0; pass < passes; ++pass) {
      for (Shard& shard : shards_) shard.left = shard.steps, shard.done = false, shard.pairing.begin_pass();
      while (!over()) {
        if (!step()) return stuck();
      }
      for (const auto& from : links_) {
        for (const auto& link : from) {
          if (!link.empty()) return "a message is left over";
        }
      }
    }
    return total() == sum ? "" : "the mean has moved";
  }

 private:
  struct Message {
    bool ended;
    float row;
  };
  struct Shard {
    explicit Shard(Pairing its) : pairing(std::move(its)) {}
    Pairing pairing;
    float row = 0;
    std::uint32_t steps = 0, left = 0;
    bool computing = false, done = false;
  };

  // Takes one of all events that may be next.
  bool step() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> next;  // A link, or a shard and itself.
    for (std::uint32_t a = 0; a < shards_.size(); ++a) {
      if (may_go_on(shards_[a])) next.emplace_back(a, a);
      for (std::uint32_t b = 0; b < shards_.size(); ++b) {
        if (!links_[a][b].empty()) next.emplace_back(a, b);
      }
    }
    if (next.empty()) return false;
    const auto [from, to] = next[random_.below(next.size())];
    from == to ? go_on(from) : deliver(from, to);
    return true;
  }
  static bool may_go_on(const Shard& shard) {
    if (shard.done) return false;
    if (shard.computing) return !shard.pairing.waits_for();
    return shard.left > 0 || shard.pairing.over() || shard.pairing.asks();
  }
  void go_on(std::uint32_t s) {
    Shard& shard = shards_[s];
    if (shard.computing || shard.left == 0) {
      if (!shard.computing) end_pass(s);
      shard.computing = false;
      return;
    }
    --shard.left;
    shard.computing = true;
    if (!shard.pairing.asks() || shard.pairing.partners().empty()) return;
    links_[s][shard.pairing.ask()].push_back({false, shard.row});
  }
  void end_pass(std::uint32_t s) {
    Shard& shard = shards_[s];
    shard.done = true;
    if (!shard.pairing.asks()) return;
    for (const std::uint32_t other : shard.pairing.partners()) links_[s][other].push_back({true, 0});
  }
  void deliver(std::uint32_t from, std::uint32_t to) {
    Message message = links_[from][to].front();
    links_[from][to].pop_front();
    Shard& shard = shards_[to];
    if (shard.pairing.asks()) {
      shard.row -= message.row;
      shard.pairing.answered();
    } else if (message.ended) {
      shard.pairing.ended();
    } else {
      meet({&shard.row, 1}, {&message.row, 1});
      links_[to][from].push_back(message);
    }
  }
  bool over() const {
    for (const Shard& shard : shards_) {
      if (!shard.done) return false;
    }
    return true;
  }
  double total() const {
    double sum = 0;
    for (const Shard& shard : shards_) sum += static_cast<double>(shard.row);
    return sum;
  }
  std::string stuck() const {
    std::string text = "stands still:";
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (!shards_[s].done) text += fmt::format(" {}", s);
    }
    return text;
  }

  Random random_;
  std::vector<Shard> shards_;
  std::vector<std::vector<std::deque<Message>>> links_;  // By sender, then receiver.
};

TEST(Pairing, NeverStandsStillInAnySchedule) {
  const char* const graphs[] = {"ring", "torus", "exponential", "complete"};
  for (std::uint64_t seed = 0; seed < 100'000; seed += kEveryForTest) {
    const auto shards = static_cast<std::uint32_t>(1 + splitmix(seed) % 7);
    const auto mixing = mixing_matrix(graphs[seed % 4], shards);
    ASSERT_TRUE(mixing);
    ASSERT_EQ(Schedule(shards, mixing->weights, seed).run(2), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace thalweg
