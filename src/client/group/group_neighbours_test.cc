#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/group/group_threads_for_test.h"

namespace thalweg {
namespace {

using Graph = std::vector<std::vector<std::uint32_t>>;  // By rank.

Graph ring(std::uint32_t ranks) {
  Graph graph(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) graph[r] = {(r + ranks - 1) % ranks, (r + 1) % ranks};
  return graph;
}

// Any edges; ranks may have none, and name them in any order.
Graph drawn(std::uint32_t ranks, Random& random) {
  Graph graph(ranks);
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      if (!random.chance(0.4)) continue;
      graph[a].push_back(b);
      graph[b].insert(graph[b].begin(), a);
    }
  }
  return graph;
}

std::string exchanged(Group& group, const std::vector<std::uint32_t>& neighbours, std::size_t count,
                      bool started) {
  const auto value = [](std::uint32_t rank, std::size_t i) {
    return static_cast<double>(rank * 1'000'000 + i);
  };
  std::vector<double> mine(count), theirs(neighbours.size() * count, -1);
  for (std::size_t i = 0; i < count; ++i) mine[i] = value(group.rank(), i);
  GroupCall call = Group::typed<double>(Operation::kNeighbours, mine.data(), theirs.data(), count);
  call.neighbours = neighbours;
  const std::uint64_t before = group.bytes_sent();
  const Status status = started ? group.start(call).wait() : group.run(call);
  if (!status.ok()) return status.message();
  if (group.bytes_sent() - before != neighbours.size() * count * sizeof(double)) return "bytes sent";
  for (std::size_t k = 0; k < neighbours.size(); ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      if (theirs[k * count + i] != value(neighbours[k], i))
        return "wrong from " + std::to_string(neighbours[k]);
    }
  }
  return {};
}

std::string by_many_graphs(Group& group) {
  Random random(7);  // The same graphs at all ranks.
  for (int round = 0; round < 30; ++round) {
    const Graph graph = drawn(group.size(), random);
    const std::size_t counts[] = {0, 1, 100, 50'000};
    const std::size_t count = counts[random.below(std::size(counts))];
    const bool started = random.chance(0.5);
    if (std::string wrong = exchanged(group, graph[group.rank()], count, started); !wrong.empty())
      return wrong;
    if (round % 5 != 0) continue;
    if (Status status = group.barrier(); !status.ok()) return status.message();
  }
  return {};
}

TEST(GroupNeighbours, GetEachOthersVectorsOverAnyGraph) {
  EXPECT_EQ(on_threads(1, by_many_graphs), "");
  EXPECT_EQ(on_threads(2, by_many_graphs), "");
  EXPECT_EQ(on_threads(6, by_many_graphs), "");
  EXPECT_EQ(on_joined(5, GroupTransport::kTcp, by_many_graphs), "");
  EXPECT_EQ(on_joined(5, GroupTransport::kAuto, by_many_graphs), "");
}

// Steps of it bring all ranks to their mean, by a third for each neighbour and oneself.
TEST(GroupNeighbours, MixToTheirMean) {
  const auto body = [](Group& group) -> std::string {
    const auto beside = ring(4)[group.rank()];
    std::vector<double> data(1000, group.rank());
    const std::vector<double> thirds(2, 1.0 / 3);
    if (Status s = group.mix_with<double>(beside, thirds, data); !s.ok()) return s.message();
    const double once = (group.rank() + (group.rank() + 1) % 4 + (group.rank() + 3) % 4) / 3.0;
    if (std::abs(data[999] - once) > 1e-15) return "after one step: " + std::to_string(data[999]);
    for (int step = 1; step < 40; ++step) {
      if (Status s = group.mix_with<double>(beside, thirds, data); !s.ok()) return s.message();
    }
    return std::abs(data[0] - 1.5) < 1e-14 ? "" : "after 40 steps: " + std::to_string(data[0]);
  };
  EXPECT_EQ(on_threads(4, body), "");
}

TEST(GroupNeighbours, AreRefusedWhereTheyCannotBe) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> data(4), theirs(8);
    const auto refused = [&](std::vector<std::uint32_t> neighbours, float* out, std::string_view expected) {
      GroupCall call = Group::typed<float>(Operation::kNeighbours, data.data(), out, data.size());
      call.neighbours = neighbours;
      const Status status = group.run(call);
      return status.code() == Code::kUsage && status.message().find(expected) != std::string::npos
                 ? ""
                 : "got " + std::string(status.message());
    };
    const std::uint32_t other = 1 - group.rank();
    std::string wrong = refused({2}, theirs.data(), "names 2 as its neighbour");
    if (wrong.empty()) wrong = refused({group.rank()}, theirs.data(), "as its neighbour");
    if (wrong.empty()) wrong = refused({other, other}, theirs.data(), "twice");
    if (wrong.empty()) wrong = refused({other}, data.data(), "overlap");
    if (wrong.empty()) wrong = refused({other}, nullptr, "null");
    GroupCall call = Group::typed<float>(Operation::kAllReduce, data.data(), data.data(), data.size());
    const std::uint32_t names[] = {other};
    call.neighbours = names;
    if (wrong.empty() && group.run(call).ok()) wrong = "an all-reduce has neighbours";
    if (wrong.empty() && group.exchange_with<float>(names, data, theirs).ok())
      wrong = "an `out` of two vectors";
    return wrong;
  };
  EXPECT_EQ(on_threads(2, body), "");
}

// One that does not name a rank that names it is waited for, and the error says for whom.
TEST(GroupNeighbours, SayWhomTheyWaitForInVain) {
  const auto body = [](Group& group) -> std::string {
    std::vector<float> data(10), theirs(group.rank() == 2 ? 10 : 0);
    const std::vector<std::uint32_t> names(group.rank() == 2 ? 1 : 0, 1);
    const Status status = group.exchange_with<float>(names, data, theirs);
    if (group.rank() != 2) return status.ok() ? "" : std::string(status.message());
    const bool said = status.message().find("neighbours #0 of 10 f32 by spread: rank 1 has left") == 0;
    return said && status.code() == Code::kPeerLost ? "" : "got " + std::string(status.message());
  };
  EXPECT_EQ(on_threads(3, body), "");
}

}  // namespace
}  // namespace thalweg
