// For how long a worker is answered nothing when a server is killed whose key ranges another has copies of.
//   fail_over sync|async [KILLS [ROWS]]
// Each job has a scheduler, three servers with two copies of each range, and a worker with two data shards,
// all of them processes. The shards pull and push random keys of a sparse table of ROWS rows, ftrl, once
// these are there. Then a server is killed at a random moment. What is printed: the time from the last answer
// before the worker is answered nothing for longest, to the next one, over the second that the kill begins.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/members/child.h"
#include "thalweg/node.h"

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;
using std::chrono::milliseconds;

constexpr TableId kTable{0};
constexpr std::size_t kBatch = 4096;  // Keys of a step of one shard.
constexpr std::uint32_t kServers = 3, kShards = 2;
constexpr milliseconds kSettle{700}, kWatched{1500};

// In memory that the job's processes share.
struct Watch {
  std::atomic<std::uint32_t> filled{0};  // Shards for which all rows are there.
  std::atomic<bool> over{false};
  std::atomic<bool> watched{false};  // Gaps count.
  std::atomic<std::int64_t> answered_at{0};
  std::atomic<std::int64_t> gap{0};  // The longest so far.
};

std::int64_t now() { return Clock::now().time_since_epoch().count(); }

// All shards are answered on one thread.
void note_answer(Watch& watch) {
  const std::int64_t at = now();
  if (watch.watched) watch.gap = std::max(watch.gap.load(), at - watch.answered_at.load());
  watch.answered_at = at;
}

Task<Status> step(Store& store, Watch& watch, const std::vector<Key>& features) {
  const Keys keys = Keys::of(features);
  const Answer rows = co_await store.pull(kTable, keys);
  if (!rows.status.ok()) co_return rows.status;
  note_answer(watch);
  auto pushed = store.push(kTable, keys, Rows(std::vector<float>(keys.size(), 0.5f)));
  if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  const Answer stored = co_await std::move(pushed);
  note_answer(watch);
  co_return stored.status;
}

Task<Status> push_for_ever(Store& store, Watch& watch, std::size_t rows) {
  std::vector<Key> features(kBatch);
  for (std::size_t begin = 0; begin < rows; begin += kBatch) {
    for (std::size_t i = 0; i < kBatch; ++i) features[i] = begin + i;
    if (Status status = co_await step(store, watch, features); !status.ok()) co_return status;
  }
  ++watch.filled;
  std::mt19937_64 random(store.shard().value);
  while (!watch.over) {
    for (Key& feature : features) feature = random() % rows;
    if (Status status = co_await step(store, watch, features); !status.ok()) co_return status;
  }
  co_return ok_status();
}

// In milliseconds. A job of its own for each kill, in a process of its own, since it has threads.
double gap_of_one_kill(Consistency consistency, std::size_t rows, std::uint32_t seed) {
  auto& watch = bench::make_shared_with_children<Watch>();
  NodeOptions node;
  node.scheduler = fmt::format("127.0.0.1:{}", 20000 + (::getpid() * 64 + static_cast<int>(seed)) % 10000);
  node.insecure_no_auth = true;
  std::array<pid_t, kServers> servers;
  for (pid_t& server : servers) server = bench::start_child([&] { return run_server(node); });
  const pid_t worker = bench::start_child(
      [&] { return run_worker(node, [&](Store& store) { return push_for_ever(store, watch, rows); }); });
  const pid_t job = bench::start_child([&] {
    JobOptions options;
    options.servers = kServers;
    options.replicas = 2;
    options.data_shards = kShards;
    options.consistency = consistency;
    options.tables.resize(1);
    options.tables[0].name = "weights";
    options.tables[0].rule.kind = RuleKind::kFtrl;
    auto listening = Job::listen(options, node);
    const Status status = listening ? listening->run() : listening.status();
    if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
    return status;
  });
  int status = 0;
  while (watch.filled < kShards) {
    THALWEG_CHECK(::waitpid(job, &status, WNOHANG) == 0, "the job goes on");
    std::this_thread::sleep_for(milliseconds(10));
  }
  std::mt19937 random(seed);
  std::this_thread::sleep_for(kSettle + milliseconds(random() % 300));
  watch.watched = true;
  ::kill(servers[seed % kServers], SIGKILL);
  std::this_thread::sleep_for(kWatched);
  const bool stopped = now() - watch.answered_at > std::chrono::nanoseconds(kWatched).count() / 2;
  const auto gap = static_cast<double>(watch.gap) / 1e6;
  watch.over = true;
  ::waitpid(job, &status, 0);
  THALWEG_CHECK(status == 0 && !stopped, "the job goes on and ends well");
  for (const pid_t child : servers) ::waitpid(child, nullptr, 0);
  ::waitpid(worker, nullptr, 0);
  ::munmap(&watch, sizeof(Watch));
  return gap;
}

int main_of(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "sync";
  const auto kills = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 20);
  const auto rows = static_cast<std::size_t>(argc > 3 ? std::atoll(argv[3]) : 1'000'000);
  std::vector<double> gaps;
  for (std::uint32_t seed = 0; seed < kills; ++seed)
    gaps.push_back(gap_of_one_kill(mode == "async" ? Consistency::async() : Consistency::sync(), rows, seed));
  std::ranges::sort(gaps);
  fmt::print("{}, {} rows, {} kills: p50 {:.0f} ms, p90 {:.0f} ms [{:.0f}..{:.0f}]\n", mode, rows, kills,
             gaps[gaps.size() / 2], gaps[gaps.size() * 9 / 10], gaps.front(), gaps.back());
  return 0;
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) { return thalweg::main_of(argc, argv); }
