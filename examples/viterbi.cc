// The likeliest sequence of hidden states behind what was observed (Viterbi 1967), in three ways that come to
// the same bits: in one thread; by ranks of a group, each with some of the states, that combine likelihoods
// by maximum; and by data shards that push them to a table whose rule keeps the greatest.
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

using Likely = MaxTimes<float>;
using Row = std::vector<float>;
constexpr std::uint32_t kStates = 10, kSymbols = 4, kTimes = 25, kRanks = 3;

struct Model {
  std::vector<Edge<float>> steps;       // Each state to each.
  std::vector<Row> shows;               // By symbol and state: how likely the state shows the symbol.
  std::vector<std::uint32_t> observed;  // By time.
};

Model random_model() {
  std::mt19937 random(3);
  const auto share = [&random] { return static_cast<float>(1 + random() % 1000) / 1024.0f; };
  Model model;
  for (std::uint32_t from = 0; from < kStates; ++from) {
    for (std::uint32_t to = 0; to < kStates; ++to) model.steps.push_back({from, to, share()});
  }
  model.shows.assign(kSymbols, Row(kStates));
  for (Row& row : model.shows) {
    for (float& likelihood : row) likelihood = share();
  }
  for (std::uint32_t t = 0; t < kTimes; ++t)
    model.observed.push_back(static_cast<std::uint32_t>(random() % kSymbols));
  return model;
}

// What is observed at a time makes of the states' likelihoods.
void observe(const Model& model, std::uint32_t time, Row& likely) {
  for (std::uint32_t s = 0; s < kStates; ++s) likely[s] *= model.shows[model.observed[time]][s];
}

std::vector<Edge<float>> share_of(const Model& model, std::uint32_t number) {
  std::vector<Edge<float>> mine;
  for (const Edge<float>& edge : model.steps) {
    if (edge.from % kRanks == number) mine.push_back(edge);
  }
  return mine;
}

// By time and state, the likelihood of the likeliest sequence that ends there.
std::vector<Row> serial(const Model& model) {
  std::vector<Row> likely(1, Row(kStates, 1));
  observe(model, 0, likely[0]);
  for (std::uint32_t t = 1; t < kTimes; ++t) {
    likely.emplace_back(kStates, Likely::zero());
    push_edges<Likely>(model.steps, likely[t - 1], likely[t]);
    observe(model, t, likely[t]);
  }
  return likely;
}

Status by_group(Group& group, const Model& model, std::vector<Row>& likely) {
  const auto mine = share_of(model, group.rank());
  likely.assign(1, Row(kStates, 1));
  observe(model, 0, likely[0]);
  for (std::uint32_t t = 1; t < kTimes; ++t) {
    likely.emplace_back(kStates, Likely::zero());
    push_edges<Likely>(mine, likely[t - 1], likely[t]);
    if (Status status = group.all_reduce(std::span(likely[t]), Likely::kReduction); !status.ok())
      return status;
    observe(model, t, likely[t]);
  }
  return ok_status();
}

class Greatest final : public CustomRule {
 public:
  std::size_t state_floats(std::size_t) const override { return 0; }
  void update(std::span<float> row, std::span<float>, std::span<const float> pushed) const override {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = Likely::add(row[i], pushed[i]);
  }
};

constexpr TableId kTable{0};  // A row of all states' likelihoods for each time.

Task<Status> by_table(Store& store, const Model& model) {
  const auto mine = share_of(model, store.shard().value);
  Row before(kStates, 1);
  observe(model, 0, before);
  for (std::uint32_t t = 1; t < kTimes; ++t) {
    Row found(kStates, Likely::zero());
    push_edges<Likely>(mine, before, found);
    observe(model, t,
            found);  // Likelihoods are not negative, so that the order of this and the maximum is one.
    if (const Answer done = co_await store.push(kTable, Keys::block(t, 1), Rows(found)); !done.status.ok())
      co_return done.status;
    if (const Answer done = co_await store.advance(); !done.status.ok()) co_return done.status;
    if (const Answer all = co_await store.barrier({0, t}); !all.status.ok()) co_return all.status;
    const Answer seen = co_await store.pull(kTable, Keys::block(t, 1));
    if (!seen.status.ok()) co_return seen.status;
    for (std::uint32_t s = 0; s < kStates; ++s) before[s] = seen.rows[s];
  }
  co_return ok_status();
}

Status by_tables(const Model& model, std::vector<Row>& likely) {
  JobOptions options;
  options.data_shards = kRanks;
  options.consistency = Consistency::async();  // The rule sees each shard's likelihoods, not their sum.
  options.rules["greatest"] = std::make_shared<Greatest>();
  options.tables.resize(1);
  options.tables[0].name = "likely";
  options.tables[0].dim = kStates;
  options.tables[0].kind = TableSpec::Kind::kDense;
  options.tables[0].rows = kTimes;
  options.tables[0].rule.kind = RuleKind::kCustom;
  options.tables[0].rule.custom = "greatest";
  auto job = Job::start(options);
  if (!job) return job.status();
  if (Status status = job->run([&model](Store& store) { return by_table(store, model); }); !status.ok())
    return status;
  likely.assign(kTimes, Row(kStates, 1));
  observe(model, 0, likely[0]);
  return job->scan(kTable, [&](Key time, std::span<const float> row) {
    if (time > 0) likely[time].assign(row.begin(), row.end());
  });
}

// The likeliest sequence, looking back from its end.
std::vector<std::uint32_t> path_of(const Model& model, const std::vector<Row>& likely) {
  std::vector<std::uint32_t> path(kTimes);
  const auto greatest = std::max_element(likely.back().begin(), likely.back().end());
  path.back() = static_cast<std::uint32_t>(greatest - likely.back().begin());
  for (std::uint32_t t = kTimes - 1; t > 0; --t) {
    float best = -1;
    for (const Edge<float>& edge : model.steps) {
      const float here = likely[t - 1][edge.from] * edge.weight;
      if (edge.to != path[t] || here <= best) continue;
      best = here;
      path[t - 1] = edge.from;
    }
  }
  return path;
}

int main() {
  const Model model = random_model();
  const std::vector<Row> expected = serial(model);
  std::vector<Group> groups = Group::in_process(kRanks);
  std::vector<std::vector<Row>> found(kRanks + 1);
  std::vector<Status> ended(kRanks + 1);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { ended[rank] = by_group(groups[rank], model, found[rank]); });
  for (std::thread& thread : threads) thread.join();
  ended[kRanks] = by_tables(model, found[kRanks]);
  bool same = true;
  for (std::size_t i = 0; i <= kRanks; ++i) {
    if (!ended[i].ok()) return std::fprintf(stderr, "%s\n", ended[i].message().c_str()), 1;
    same = same && found[i] == expected && path_of(model, found[i]) == path_of(model, expected);
  }
  std::printf("likeliest states:");
  for (const std::uint32_t state : path_of(model, expected)) std::printf(" %u", state);
  std::printf("%s\n", same ? "" : ", but not for all");
  return same ? 0 : 1;
}
