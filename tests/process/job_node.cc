// One program that plays every role of a job, as an application's would, and can be told to go wrong:
//   job_node local|scheduler|server|worker [ADDRESS] [rule] [die-at STEP] [fail-at STEP] [throw-at STEP]
//            [compute-at STEP SECONDS] [timeout SECONDS] [shards N] [replicas R]
// `local` and `scheduler` print the rows that came out, bit by bit. `rule`: the table has a rule of this
// program's own, which servers know when they are given the word too. `die-at` kills this process, without a
// word, in that step of a worker's first shard, or at that update of a server's rule; in `fail-at` a program
// fails, in `throw-at` it throws, and in `compute-at` it takes so long, without a call of the store.
#include <signal.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/node.h"

using namespace thalweg;

namespace {

constexpr TableId kRows{0};
constexpr std::uint32_t kSteps = 40, kDim = 3;
constexpr std::size_t kKeys = 50;
constexpr std::uint32_t kNeverStep = ~0u;

class Decayed final : public CustomRule {
 public:
  explicit Decayed(std::uint32_t die_at) : die_at_(die_at) {}
  std::size_t state_floats(std::size_t dim) const override { return dim; }
  void update(std::span<float> row, std::span<float> state, std::span<const float> grad) const override {
    if (updates_++ == die_at_) ::raise(SIGKILL);
    for (std::size_t i = 0; i < row.size(); ++i) {
      state[i] = 0.9f * state[i] + grad[i];
      row[i] -= 0.1f * state[i];
    }
  }

 private:
  const std::uint32_t die_at_;
  mutable std::atomic<std::uint32_t> updates_{0};
};

struct Wrong {
  std::uint32_t die_at = kNeverStep;
  std::uint32_t fail_at = kNeverStep;
  std::uint32_t throw_at = kNeverStep;
  std::uint32_t compute_at = kNeverStep;
  std::uint32_t compute_s = 0;
};

void compute_for(std::chrono::seconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Task<Status> train(Store& store, Wrong wrong) {
  std::vector<Key> numbers(kKeys);
  std::iota(numbers.begin(), numbers.end(), Key{1});
  const Keys keys = Keys::of(numbers);
  for (Step at = store.step(); at.index < kSteps; at = store.step()) {
    if (at.index == wrong.die_at) ::raise(SIGKILL);
    if (at.index == wrong.throw_at) throw std::runtime_error("thrown");
    if (at.index == wrong.compute_at) compute_for(std::chrono::seconds(wrong.compute_s));
    if (at.index == wrong.fail_at)
      co_return Status(Code::kData, "no row 17 in shard " + std::to_string(store.shard().value));
    const Answer rows = co_await store.pull(kRows, keys);
    if (!rows.status.ok()) co_return rows.status;
    std::vector<float> grads(rows.rows.size());
    for (std::size_t i = 0; i < grads.size(); ++i) {
      grads[i] = std::sin(rows.rows[i] + static_cast<float>(i * (store.shard().value + 1) + at.index));
    }
    store.push(kRows, keys, Rows(std::move(grads))).forget();
    if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  }
  co_return ok_status();
}

Status run_job(Result<Job> job, const Program& program) {
  if (!job) return job.status();
  std::printf("%s\n", job->address().c_str());
  std::fflush(stdout);
  if (Status status = job->run(program); !status.ok()) return status;
  return job->scan(kRows, [](Key key, std::span<const float> row) {
    std::printf("%llu", static_cast<unsigned long long>(key));
    for (const float value : row) std::printf(" %08x", std::bit_cast<std::uint32_t>(value));
    std::printf("\n");
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string role = words.empty() ? "" : words[0];
  NodeOptions node;
  node.log = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  if (words.size() > 1) node.scheduler = words[1];
  bool rule = false;
  Wrong wrong;
  std::uint32_t timeout_s = 30, shards = 6, replicas = 0;
  const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(words.at(i))); };
  for (std::size_t i = 2; i < words.size(); ++i) {
    rule = rule || words[i] == "rule";
    if (words[i] == "die-at") wrong.die_at = number(i + 1);
    if (words[i] == "fail-at") wrong.fail_at = number(i + 1);
    if (words[i] == "throw-at") wrong.throw_at = number(i + 1);
    if (words[i] == "compute-at") wrong.compute_at = number(i + 1), wrong.compute_s = number(i + 2);
    if (words[i] == "timeout") timeout_s = number(i + 1);
    if (words[i] == "shards") shards = number(i + 1);
    if (words[i] == "replicas") replicas = number(i + 1);
  }
  JobOptions options;
  options.servers = 2;
  options.replicas = replicas;
  options.workers = 3;
  options.data_shards = shards;
  options.timeout = std::chrono::seconds(timeout_s);
  options.tables.resize(1);
  options.tables[0].name = "rows";
  options.tables[0].dim = kDim;
  options.tables[0].rule.kind = RuleKind::kAdam;
  if (rule) {
    options.tables[0].rule.kind = RuleKind::kCustom;
    options.tables[0].rule.custom = "decayed";
    options.rules["decayed"] = std::make_shared<Decayed>(wrong.die_at);
  }
  const Program program = [wrong](Store& store) { return train(store, wrong); };
  const Status status = role == "scheduler" ? run_job(Job::listen(options, node), nullptr)
                        : role == "server"  ? run_server(node, options.rules)
                        : role == "worker"  ? run_worker(node, program)
                        : role == "local"   ? run_job(Job::start(options), program)
                                            : Status(Code::kUsage, "no such role");
  if (!status.ok()) std::fprintf(stderr, "ended: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
