// Shortest paths from one node, by Bellman and Ford, in three ways that come to the same: in one thread; by
// ranks of a group, each with some of the edges, that combine what they found by minimum; and by data shards
// that push lengths to a table whose rule keeps the shortest.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "thalweg/group.h"
#include "thalweg/job.h"
#include "thalweg/semiring.h"

using namespace thalweg;

using Lengths = MinPlus<std::int64_t>;
using Edges = std::vector<Edge<std::int64_t>>;
constexpr std::uint32_t kNodes = 60, kRanks = 3;
constexpr std::int64_t kFar = 1 << 20;  // Above every length; floats hold it exactly.

Edges random_edges() {
  std::mt19937 random(7);
  Edges edges;
  for (int i = 0; i < 240; ++i) {
    const auto from = static_cast<std::uint32_t>(random() % kNodes),
               to = static_cast<std::uint32_t>(random() % kNodes);
    edges.push_back({from, to, static_cast<std::int64_t>(1 + random() % 100)});
  }
  return edges;
}

std::vector<std::int64_t> start_at_node_0() {
  std::vector<std::int64_t> lengths(kNodes, Lengths::zero());
  lengths[0] = Lengths::one();
  return lengths;
}

std::vector<std::int64_t> serial(const Edges& edges) {
  std::vector<std::int64_t> lengths = start_at_node_0();
  for (std::uint32_t round = 1; round < kNodes; ++round) push_edges<Lengths>(edges, lengths, lengths);
  return lengths;
}

Edges share_of(const Edges& edges, std::uint32_t number) {
  Edges mine;
  for (std::size_t i = number; i < edges.size(); i += kRanks) mine.push_back(edges[i]);
  return mine;
}

// Until nothing gets shorter, which all ranks see alike.
Status by_group(Group& group, const Edges& edges, std::vector<std::int64_t>& lengths) {
  const Edges mine = share_of(edges, group.rank());
  for (std::vector<std::int64_t> before; before != lengths;) {
    before = lengths;
    push_edges<Lengths>(mine, before, lengths);
    if (Status status = group.all_reduce(std::span(lengths), Lengths::kReduction); !status.ok())
      return status;
  }
  return ok_status();
}

// A row holds kFar less the shortest length pushed, so that 0, as rows begin, is the longest.
class Shortest final : public CustomRule {
 public:
  std::size_t state_floats(std::size_t) const override { return 0; }
  void update(std::span<float> row, std::span<float>, std::span<const float> pushed) const override {
    row[0] = std::max(row[0], pushed[0]);
  }
};

constexpr TableId kTable{0};

Task<Status> by_table(Store& store, const Edges& edges) {
  const Edges mine = share_of(edges, store.shard().value);
  const Keys nodes = Keys::block(0, kNodes);
  for (std::uint32_t round = 0; round < kNodes; ++round) {
    const Answer seen = co_await store.pull(kTable, nodes);
    if (!seen.status.ok()) co_return seen.status;
    std::vector<std::int64_t> lengths = start_at_node_0();
    for (std::uint32_t node = 1; node < kNodes; ++node) {
      if (seen.rows[node] > 0) lengths[node] = kFar - static_cast<std::int64_t>(seen.rows[node]);
    }
    std::vector<std::int64_t> shorter = lengths;
    push_edges<Lengths>(mine, lengths, shorter);
    std::vector<float> pushed(kNodes);
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      if (shorter[node] != Lengths::zero()) pushed[node] = static_cast<float>(kFar - shorter[node]);
    }
    // Awaited, so that all shards' pushes are applied once all have come to the barrier.
    if (const Answer done = co_await store.push(kTable, nodes, Rows(std::move(pushed))); !done.status.ok())
      co_return done.status;
    if (const Answer done = co_await store.advance(); !done.status.ok()) co_return done.status;
    if (const Answer all = co_await store.barrier({0, round}); !all.status.ok()) co_return all.status;
  }
  co_return ok_status();
}

Result<std::vector<std::int64_t>> by_tables(const Edges& edges) {
  JobOptions options;
  options.data_shards = kRanks;
  options.consistency = Consistency::async();  // The rule sees each shard's lengths, not their sum.
  options.rules["shortest"] = std::make_shared<Shortest>();
  options.tables.resize(1);
  options.tables[0].name = "lengths";
  options.tables[0].kind = TableSpec::Kind::kDense;
  options.tables[0].rows = kNodes;
  options.tables[0].rule.kind = RuleKind::kCustom;
  options.tables[0].rule.custom = "shortest";
  auto job = Job::start(options);
  if (!job) return job.status();
  if (Status status = job->run([&edges](Store& store) { return by_table(store, edges); }); !status.ok())
    return status;
  std::vector<std::int64_t> lengths = start_at_node_0();
  const Status seen = job->scan(kTable, [&](Key node, std::span<const float> row) {
    if (row[0] > 0) lengths[node] = kFar - static_cast<std::int64_t>(row[0]);
  });
  if (!seen.ok()) return seen;
  return lengths;
}

int main() {
  const Edges edges = random_edges();
  const std::vector<std::int64_t> expected = serial(edges);
  std::vector<Group> groups = Group::in_process(kRanks);
  std::vector<std::vector<std::int64_t>> found(kRanks, start_at_node_0());
  std::vector<Status> ended(kRanks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { ended[rank] = by_group(groups[rank], edges, found[rank]); });
  for (std::thread& thread : threads) thread.join();
  const auto in_table = by_tables(edges);
  if (!in_table) return std::fprintf(stderr, "%s\n", in_table.status().message().c_str()), 1;
  bool same = *in_table == expected;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    if (!ended[rank].ok()) return std::fprintf(stderr, "%s\n", ended[rank].message().c_str()), 1;
    same = same && found[rank] == expected;
  }
  std::int64_t longest = 0;
  for (const std::int64_t length : expected) {
    if (length != Lengths::zero()) longest = std::max(longest, length);
  }
  std::printf("the farthest node is at %lld, %s\n", static_cast<long long>(longest),
              same ? "whoever looks for it" : "but not for all");
  return same ? 0 : 1;
}
