// What it costs those who pull that another server joins and key ranges move to it.
//   server_join sync|async [ROWS [DIM [RANGES [STEPS [WATCHED]]]]]
// A job of a scheduler, two servers without copies, and two workers of one data shard each, all of them
// processes. Its sparse table of ROWS rows of DIM floats, adagrad, in RANGES key ranges, is filled first.
// From then on each shard pulls and pushes random keys, STEPS times a second, or as often as it can where
// that is 0. After WATCHED seconds a third server joins. Printed: how long pulls took before, while ranges
// moved, and in as long a time after.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/members/child.h"
#include "thalweg/node.h"

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;

constexpr TableId kTable{0};
constexpr std::size_t kFillKeys = 4096, kKeys = 512;  // Of a step.
constexpr std::uint32_t kShards = 2;
constexpr std::size_t kTimesMax = std::size_t{1} << 20;

struct Case {
  Consistency consistency;
  std::size_t rows = 1'000'000;
  std::uint32_t dim = 64;
  std::uint16_t ranges = 256;
  double steps_per_second = 0;
  double watched_s = 10;
};

enum Phase : unsigned { kFilling, kBefore, kMoving, kAfter, kPhases };

struct Times {
  std::atomic<std::size_t> count{0};
  float ms[kTimesMax];
};

// In memory that the job's processes share.
struct Watch {
  std::atomic<std::uint32_t> filled{0};  // Shards that have put their rows.
  std::atomic<unsigned> phase{kFilling};
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> errors{0};
  Clock::time_point began, moved;
  char said[256];
  Times times[kShards][kPhases];
};

void note(Watch& watch, std::uint32_t shard, unsigned phase, Clock::duration took) {
  Times& times = watch.times[shard][phase];
  if (times.count == kTimesMax) return;
  times.ms[times.count] = std::chrono::duration<float, std::milli>(took).count();
  ++times.count;
}

Task<Status> step(Store& store, Watch& watch, const std::vector<Key>& features, std::uint32_t dim) {
  const Keys keys = Keys::of(features);
  const bool moved_then = watch.phase == kMoving;
  const auto begin = Clock::now();
  const Answer rows = co_await store.pull(kTable, keys);
  if (!rows.status.ok()) co_return rows.status;
  note(watch, store.shard().value, moved_then ? kMoving : watch.phase.load(), Clock::now() - begin);
  auto pushed = store.push(kTable, keys, Rows(std::vector<float>(keys.size() * dim, 0.5f)));
  if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  co_return (co_await std::move(pushed)).status;
}

Task<Status> work(Store& store, Watch& watch, const Case& of) {
  std::vector<Key> features(kFillKeys);
  const std::size_t part = of.rows / kShards, first = store.shard().value * part;
  for (std::size_t begin = 0; begin < part; begin += kFillKeys) {
    for (std::size_t i = 0; i < kFillKeys; ++i) features[i] = first + std::min(begin + i, part - 1);
    if (Status status = co_await step(store, watch, features, of.dim); !status.ok()) co_return status;
  }
  ++watch.filled;
  std::mt19937_64 random(store.shard().value);
  features.resize(kKeys);
  Clock::time_point next = Clock::now();
  while (!watch.over) {
    for (Key& feature : features) feature = random() % (part * kShards);
    if (Status status = co_await step(store, watch, features, of.dim); !status.ok()) co_return status;
    if (of.steps_per_second == 0) continue;
    next += std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / of.steps_per_second));
    next =
        std::max(next, Clock::now() - std::chrono::milliseconds(1));  // What was missed is not made up for.
    std::this_thread::sleep_until(next);
  }
  co_return ok_status();
}

Status run_job(Watch& watch, const Case& of, NodeOptions node) {
  JobOptions options;
  options.servers = 2;
  options.replicas = 1;
  options.workers = options.data_shards = kShards;
  options.consistency = of.consistency;
  options.tables.resize(1);
  options.tables[0].name = "weights";
  options.tables[0].dim = of.dim;
  options.tables[0].ranges = of.ranges;
  options.tables[0].rule.kind = RuleKind::kAdagrad;
  node.log = [&watch](const std::string& line) {
    if (line.find("key ranges are to come to it") != std::string::npos) {
      watch.began = Clock::now();
      watch.phase = kMoving;
    }
    if (line.find(" takes part; ") == std::string::npos) return;
    watch.moved = Clock::now();
    line.copy(watch.said, sizeof watch.said - 1);
    watch.phase = kAfter;
  };
  auto listening = Job::listen(options, node);
  const Status status = listening ? listening->run() : listening.status();
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status;
}

double part_of(const std::vector<float>& ascending, double part) {
  return ascending[std::min(ascending.size() - 1,
                            static_cast<std::size_t>(part * static_cast<double>(ascending.size())))];
}

// Returns the 99th percentile.
double show(Watch& watch, Phase phase, const char* name, double seconds) {
  std::vector<float> all;
  for (const auto& of : watch.times)
    all.insert(all.end(), of[phase].ms, of[phase].ms + of[phase].count.load());
  if (all.empty()) all.push_back(static_cast<float>(1e3 * seconds));  // None was answered.
  std::ranges::sort(all);
  fmt::print("{}: {} pulls, {:.0f} a second: p50 {:.2f} ms, p99 {:.2f} ms, longest {:.0f} ms\n", name,
             all.size(), static_cast<double>(all.size()) / seconds, part_of(all, 0.5), part_of(all, 0.99),
             all.back());
  return part_of(all, 0.99);
}

void measure(Watch& watch, const Case& of, pid_t job, const NodeOptions& node) {
  const auto rest_until = [&](const auto& holds) {
    while (!holds()) {
      THALWEG_CHECK(::waitpid(job, nullptr, WNOHANG) == 0, "the job goes on");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  const auto rest = [&](double seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    rest_until([&] { return Clock::now() >= end; });
  };
  rest_until([&] { return watch.filled == kShards; });
  rest(2);
  watch.phase = kBefore;
  rest(of.watched_s);
  const pid_t late = bench::start_child([&] { return run_server(node); });
  rest_until([&] { return watch.phase == kAfter; });
  rest(of.watched_s);
  watch.over = true;
  int status = 0;
  ::waitpid(job, &status, 0);
  ::waitpid(late, nullptr, 0);
  fmt::print("{}\nthe job ended with {}\n", watch.said, status);
}

int main_of(int argc, char** argv) {
  const auto number = [&](int at, double unless_told) {
    return argc > at ? std::atof(argv[at]) : unless_told;
  };
  const std::string mode = argc > 1 ? argv[1] : "sync";
  Case of{mode == "async" ? Consistency::async() : Consistency::sync()};
  of.rows = static_cast<std::size_t>(number(2, 1e6));
  of.dim = static_cast<std::uint32_t>(number(3, of.dim));
  of.ranges = static_cast<std::uint16_t>(number(4, of.ranges));
  of.steps_per_second = number(5, 0);
  of.watched_s = number(6, of.watched_s);
  auto& watch = bench::make_shared_with_children<Watch>();
  NodeOptions node;
  node.scheduler = fmt::format("127.0.0.1:{}", 20000 + ::getpid() % 10000);
  node.insecure_no_auth = true;
  std::vector<pid_t> others;
  for (int i = 0; i < 2; ++i) others.push_back(bench::start_child([&] { return run_server(node); }));
  for (std::uint32_t i = 0; i < kShards; ++i) {
    others.push_back(bench::start_child([&] {
      const Status status = run_worker(node, [&](Store& store) { return work(store, watch, of); });
      if (!status.ok()) ++watch.errors;
      return status;
    }));
  }
  const pid_t job = bench::start_child([&] { return run_job(watch, of, node); });
  measure(watch, of, job, node);
  for (const pid_t other : others) ::waitpid(other, nullptr, 0);
  const double moving_s = std::chrono::duration<double>(watch.moved - watch.began).count();
  fmt::print(
      "{}, {} rows of {} floats in {} ranges, a third of which moved, {:.0f} MB with state, in {:.2f} s: {} "
      "errors\n",
      mode, of.rows, of.dim, of.ranges, static_cast<double>(of.rows) * (8 * of.dim + 8) / 3e6, moving_s,
      watch.errors.load());
  const double before = show(watch, kBefore, "before", of.watched_s);
  const double moving = show(watch, kMoving, "while they moved", moving_s);
  show(watch, kAfter, "after", of.watched_s);
  fmt::print("99th percentile while they moved: {:.2f} times that before\n", moving / before);
  return watch.errors == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) { return thalweg::main_of(argc, argv); }
