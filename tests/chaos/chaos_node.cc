// The scheduler and the workers of a job that is hurt while it runs; its servers are the product's.
//   chaos_node local|scheduler|worker ADDRESS MODE SHARDS STEPS [servers N] [replicas R] [workers N] [silence
//   MS]
//              [grace MS] [open] [history FOLDER] [twice STEP]
// MODE is sync, async or bounded:S. Of two tables one counts pushes, as history.h has it, and the other one
// learns: what is pushed to it depends on the rows that were pulled, so that in lockstep its bits tell of
// each update too many or too few. `scheduler` and `local`, which is the same in one process, write the first
// one's rows to FOLDER/counts and print a number of both. `worker` writes what its shards see into FOLDER.
// `open`: nobody has to know a secret. `twice` plants a fault: in that step shard 0 adds 2.
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "history.h"
#include "thalweg/node.h"

namespace thalweg {
namespace {

constexpr TableId kCounts{0}, kModel{1};
constexpr std::uint64_t kCountKeys = 64, kModelKeys = 4096;
constexpr std::size_t kCounted = 8, kLearnt = 64, kModelDim = 4;

struct Words {
  std::string role, address, mode, folder;
  std::uint32_t shards = 0, steps = 0, servers = 3, replicas = 0, workers = 2, silence_ms = 0,
                grace_ms = 3000;
  std::uint32_t twice = ~0u;
  bool open = false;
};

// Depends on nothing but these, so that an heir pushes the same.
std::uint64_t drawn(std::uint64_t table, std::uint64_t shard, std::uint64_t step, std::uint64_t i) {
  std::uint64_t x = (((table * 4096 + shard) << 40) ^ (step << 12) ^ i) + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

Keys drawn_keys(TableId table, ShardId shard, Step step, std::size_t count, std::uint64_t of) {
  std::vector<Key> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = drawn(table.value, shard.value, step.index, i) % of;
  return Keys::of(keys);
}

std::vector<std::uint64_t> names(const Keys& keys) {
  std::vector<std::uint64_t> out(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) out[i] = keys.key(i);
  return out;
}

// A step of one shard. The first failure.
Task<Status> step(Store& store, const Words& words, HistoryFile* history) {
  const std::uint32_t shard = store.shard().value, at = store.step().index;
  const Keys counted = drawn_keys(kCounts, store.shard(), store.step(), kCounted, kCountKeys);
  const Keys learnt = drawn_keys(kModel, store.shard(), store.step(), kLearnt, kModelKeys);
  SeenPull seen{shard, at, HistoryFile::now(), 0, names(counted), {}};
  auto rows = store.pull(kModel, learnt);
  const Answer counts = co_await store.pull(kCounts, counted);
  if (!counts.status.ok()) co_return counts.status;
  seen.ended = HistoryFile::now();
  seen.counts.assign(counts.rows.span().begin(), counts.rows.span().end());
  if (history != nullptr) history->pulled(seen);
  const Answer model = co_await std::move(rows);
  if (!model.status.ok()) co_return model.status;
  std::vector<float> grads(model.rows.size());
  for (std::size_t i = 0; i < grads.size(); ++i)
    grads[i] = std::sin(model.rows[i] + static_cast<float>(i * (shard + 1) + at));
  store.push(kModel, learnt, Rows(std::move(grads))).forget();
  std::vector<float> ones(counted.size() * words.shards, 0.0f);
  for (std::size_t i = 0; i < counted.size(); ++i)
    ones[i * words.shards + shard] = shard == 0 && at == words.twice ? 2 : 1;
  if (history != nullptr) history->begin_push(shard, at, seen.keys);
  auto pushed = store.push(kCounts, counted, Rows(std::move(ones)));
  if (const Answer ended = co_await store.advance(); !ended.status.ok()) co_return ended.status;
  const Answer stored = co_await std::move(pushed);
  if (stored.status.ok() && history != nullptr) history->push_answered(shard, at);
  co_return stored.status;
}

Task<Status> work(Store& store, const Words& words, HistoryFile* history) {
  while (store.step().index < words.steps) {
    if (Status status = co_await step(store, words, history); !status.ok()) co_return status;
  }
  co_return ok_status();
}

JobOptions job_options(const Words& words) {
  JobOptions options;
  options.servers = words.servers;
  options.replicas = words.replicas;
  options.workers = words.workers;
  options.data_shards = words.shards;
  options.timeout = std::chrono::seconds(30);
  options.silence = std::chrono::milliseconds(words.silence_ms);
  if (words.mode == "async") options.consistency = Consistency::async();
  if (words.mode.starts_with("bounded:"))
    options.consistency = Consistency::bounded(static_cast<std::uint32_t>(std::atoi(words.mode.c_str() + 8)));
  options.tables.resize(2);
  options.tables[0].name = "counts";
  options.tables[0].dim = words.shards;
  options.tables[0].ranges = 24;
  options.tables[1].name = "model";
  options.tables[1].dim = kModelDim;
  options.tables[1].ranges = 48;
  options.tables[1].rule.kind = RuleKind::kAdam;
  return options;
}

// Of the bits of all rows, whatever their order.
Status finish(Job& job, const Words& words) {
  std::uint64_t digest = 0;
  std::ofstream out(words.folder.empty() ? "/dev/null" : words.folder + "/counts");
  for (const TableId table : {kCounts, kModel}) {
    const Status status = job.scan(table, [&](Key key, std::span<const float> row) {
      for (std::size_t i = 0; i < row.size(); ++i)
        digest += drawn(table.value, key, i, std::bit_cast<std::uint32_t>(row[i]));
      if (table != kCounts) return;
      out << key;
      for (const float count : row) out << fmt::format(" {}", count);
      out << '\n';
    });
    if (!status.ok()) return status;
  }
  out.close();
  fmt::print("digest {:016x}\n", digest);
  return out ? ok_status() : Status(Code::kIo, words.folder + "/counts: cannot be written");
}

Status run_job(Result<Job> job, const Words& words, const Program& program) {
  if (!job) return job.status();
  fmt::print("address {}\n", job->address());
  std::fflush(stdout);
  if (Status status = job->run(program); !status.ok()) return status;
  return finish(*job, words);
}

Status run_as_worker(const NodeOptions& node, const Words& words) {
  auto history = HistoryFile::create(fmt::format("{}/client-{}", words.folder, ::getpid()));
  if (!history) return history.status();
  return run_worker(node, [&](Store& store) { return work(store, words, &*history); });
}

Words read_words(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  Words words;
  const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(given.at(i))); };
  words.role = given.at(0);
  words.address = given.at(1);
  words.mode = given.at(2);
  words.shards = number(3);
  words.steps = number(4);
  for (std::size_t i = 5; i < given.size(); ++i) {
    const std::string& word = given[i];
    if (word == "open") words.open = true;
    if (word == "servers") words.servers = number(++i);
    if (word == "replicas") words.replicas = number(++i);
    if (word == "workers") words.workers = number(++i);
    if (word == "silence") words.silence_ms = number(++i);
    if (word == "grace") words.grace_ms = number(++i);
    if (word == "twice") words.twice = number(++i);
    if (word == "history") words.folder = given.at(++i);
  }
  return words;
}

int main_of(int argc, char** argv) {
  const Words words = read_words(argc, argv);
  NodeOptions node;
  node.scheduler = words.address;
  node.insecure_no_auth = words.open;
  node.grace = std::chrono::milliseconds(words.grace_ms);
  node.log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  if (words.open) node.listen = words.address.substr(0, words.address.rfind(':')) + ":0";
  const Program program = [&](Store& store) { return work(store, words, nullptr); };
  const Status status = words.role == "scheduler"
                            ? run_job(Job::listen(job_options(words), node), words, nullptr)
                        : words.role == "worker" ? run_as_worker(node, words)
                        : words.role == "local"  ? run_job(Job::start(job_options(words)), words, program)
                                                 : Status(Code::kUsage, "no such role");
  if (!status.ok()) fmt::print(stderr, "ended: {}\n", status.message());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) { return thalweg::main_of(argc, argv); }
