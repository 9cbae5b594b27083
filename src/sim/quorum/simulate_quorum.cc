#include "sim/quorum/simulate_quorum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/quorum/quorum_history.h"
#include "sim/quorum/quorum_parts.h"
#include "sim/quorum/quorum_world.h"

namespace thalweg::sim {
namespace {

constexpr std::uint64_t kQuorumEventsMax = 2'000'000;

// When all is mended and quiet.
void check_end(QuorumWorld& world, QuorumHistory& history) {
  const QuorumPlan& plan = world.plan();
  for (std::uint32_t server = 0; server < plan.servers; ++server) {
    const quorum::VersionStore& store = world.store(server);
    if (!store.hints().empty()) {
      const auto& [target, key] = store.hints().begin()->first;
      world.findings().add(Checker::kHints, fmt::format("server-{} keeps {} hints to the end, one of key {} "
                                                        "for server-{}",
                                                        server, store.hints().size(), key, target));
    }
    for (std::uint32_t other = server + 1; other < plan.servers; ++other) {
      if (store.tree(other)->root() == world.store(other).tree(server)->root()) continue;
      world.findings().add(Checker::kRoots,
                           fmt::format("server-{} and server-{} hold different versions", server, other));
    }
    for (Key key = 0; key < plan.keys; ++key) {
      if (!store.is_home(key)) continue;
      std::vector<std::string> texts;
      if (const quorum::Record* record = store.find(key)) {
        for (const quorum::Version& version : record->versions()) texts.emplace_back(version.value.text());
      }
      history.at_end(server, key, texts);
    }
  }
}

// Clients that get and put at random. When all is mended and quiet, what servers have is checked, and clients
// get each key once more.
class QuorumWork {
 public:
  QuorumWork(QuorumWorld& world, QuorumHistory& history)
      : world_(world),
        history_(history),
        random_(Random(world.plan().seed).split(43)),
        clients_(world.plan().clients) {
    world.on_result = [this](std::uint32_t client, quorum::ClientResult result) {
      finish(client, std::move(result));
    };
    for (std::uint32_t client = 0; client < clients_.size(); ++client) next(client);
  }

  bool all_done() const { return done_ == clients_.size(); }
  std::uint64_t gets() const { return gets_; }
  std::uint64_t failed() const { return failed_; }

 private:
  struct Seen {
    VectorClock context;
    std::vector<QuorumHistory::Value> values;
  };
  struct ClientWork {
    std::uint32_t requests = 0;
    Key last_read = 0;  // Of the final gets.
    bool put = false;
    Key key = 0;
    Instant begun;
    QuorumHistory::Value value = 0;
    std::map<Key, Seen> seen;
  };

  void next(std::uint32_t client) {
    ClientWork& work = clients_[client];
    const QuorumPlan& plan = world_.plan();
    if (work.requests < plan.requests) {
      const Duration think = scaled(plan.think, -std::log(1 - random_.unit()));
      return world_.at(world_.now() + think, [this, client] { begin(client); });
    }
    if (last_gets_) return next_last(client);
    if (++waiting_ < clients_.size()) return;
    const Instant quiet = std::max(world_.now(), Instant{plan.until.count()}) + plan.settle_time();
    world_.at(quiet, [this] {
      last_gets_ = true;
      check_end(world_, history_);
      for (std::uint32_t each = 0; each < clients_.size(); ++each) next_last(each);
    });
  }

  void next_last(std::uint32_t client) {
    ClientWork& work = clients_[client];
    if (work.last_read == world_.plan().keys) {
      ++done_;
    } else {
      begin_get(client, work.last_read++);
    }
  }

  void begin(std::uint32_t client) {
    ClientWork& work = clients_[client];
    ++work.requests;
    const Key key = random_.below(world_.plan().keys);
    random_.chance(world_.plan().put_chance) ? begin_put(client, key) : begin_get(client, key);
  }

  void begin_get(std::uint32_t client, Key key) {
    ClientWork& work = clients_[client];
    work.put = false;
    work.key = key;
    work.begun = world_.now();
    world_.turn(client,
                [key](quorum::Client& node, Instant now, Transport& out) { node.get(now, key, out); });
  }

  void begin_put(std::uint32_t client, Key key) {
    ClientWork& work = clients_[client];
    work.put = true;
    work.key = key;
    work.begun = world_.now();
    const Seen seen = random_.chance(world_.plan().blind_chance) ? Seen() : work.seen[key];
    work.value = history_.begin_put(key, seen.values);
    const Bytes text = Bytes::of(std::to_string(work.value));
    world_.turn(client, [&](quorum::Client& node, Instant now, Transport& out) {
      node.put(now, key, seen.context, text, out);
    });
  }

  void finish(std::uint32_t client, quorum::ClientResult result) {
    ClientWork& work = clients_[client];
    const bool ok = result.status.ok();
    if (!ok) {
      ++failed_;
      if (last_gets_) {
        world_.findings().add(Checker::kEnds,
                              fmt::format("a get when all was mended failed: {}", result.status.message()));
      }
    }
    if (work.put) {
      history_.end_put(work.value, world_.now(), ok);
    } else if (ok) {
      ++gets_;
      std::vector<std::string> texts;
      for (const Bytes& value : result.values) texts.emplace_back(value.text());
      work.seen[work.key] = {result.context, history_.end_get(work.key, work.begun, texts, last_gets_)};
    }
    next(client);
  }

  QuorumWorld& world_;
  QuorumHistory& history_;
  Random random_;
  std::vector<ClientWork> clients_;
  std::size_t waiting_ = 0;
  bool last_gets_ = false;
  std::size_t done_ = 0;
  std::uint64_t gets_ = 0;
  std::uint64_t failed_ = 0;
};

// By whichever clock is the slowest.
Instant time_by_which_all_ends(const QuorumPlan& plan) {
  const Duration request = 8 * plan.server.deadline + 2 * plan.think + std::chrono::seconds(1);
  const Duration work = request * (plan.requests + plan.keys);
  return Instant{plan.until.count()} + plan.settle_time() + scaled(work, 2) + 20 * plan.think;
}

}  // namespace

QuorumReport run_quorum_plan(const QuorumPlan& plan, Trace trace) {
  QuorumReport report;
  report.seed = plan.seed;
  report.plan = describe(plan);
  if (trace) trace("the plan: " + report.plan);
  QuorumWorld world(plan, std::move(trace));
  QuorumHistory history(plan.fresh(), world.findings());
  QuorumWork work(world, history);
  world.start();
  const Instant allowed = time_by_which_all_ends(plan);
  while (!work.all_done() && world.step()) {
    if (world.events() <= kQuorumEventsMax && world.now() <= allowed) continue;
    world.findings().add(Checker::kProgress, fmt::format("no end in sight after {} events", world.events()));
  }
  world.count_living();
  report.violation = world.findings().first();
  report.trace_hash = world.trace_hash();
  report.events = world.events();
  report.virtual_time = world.now() - Instant{};
  report.puts = history.acknowledged();
  report.gets = work.gets();
  report.failed = work.failed();
  report.stale = history.stale();
  report.fresh = plan.fresh();
  const quorum::ServerCounts& served = world.served();
  report.hints_kept = served.hints_kept;
  report.hints_delivered = served.hints_delivered;
  report.repairs = served.repairs;
  report.synced = served.synced;
  report.restored = served.restored;
  report.redirected = served.redirected;
  report.crashes = world.counts().crashes;
  report.disks = world.counts().disks;
  report.partitions = world.counts().partitions;
  report.pauses = world.counts().pauses;
  return report;
}

QuorumReport run_quorum_seed(std::uint64_t seed, Trace trace) {
  return run_quorum_plan(draw_quorum_plan(seed), std::move(trace));
}

Seeds<QuorumReport> quorum_seeds() { return seeds_of(draw_quorum_plan, run_quorum_plan); }

}  // namespace thalweg::sim
