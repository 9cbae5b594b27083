// A job whose state is kept in memory, and the schedulers that it has one after the other.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/kept_scheduler.h"
#include "scheduler/members_for_test.h"

namespace thalweg {

// A store in memory, which may be out of order for a while.
class StoreInMemory final : public StateStore {
 public:
  Result<StateView> get(std::string_view prefix) override {
    StateView view{{}, revision_};
    for (const auto& [key, entry] : entries_) {
      if (key.starts_with(prefix)) view.entries[key] = entry;
    }
    return view;
  }
  Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                             StateLease) override {
    if (fails) return Status(Code::kIo, "the store is out of order");
    if (hears_late) {
      under_way_ = {{guards.begin(), guards.end()}, {changes.begin(), changes.end()}};
      return Status(Code::kTimeout, "no answer");
    }
    for (const StateGuard& guard : guards) {
      const auto entry = entries_.find(guard.key);
      if ((entry == entries_.end() ? 0 : entry->second.revision) != guard.revision)
        return Status(Code::kStale, guard.key);
    }
    ++revision_;
    most = std::max(most, changes.size());
    for (const StateChange& change : changes) {
      entries_.erase(change.key);
      if (change.value) entries_[change.key] = {*change.value, revision_};
    }
    if (loses_answers) return Status(Code::kTimeout, "no answer");
    return revision_;
  }
  Result<std::vector<StateEvent>> watch(std::string_view, std::uint64_t, Duration) override {
    return std::vector<StateEvent>();
  }
  Result<StateLease> grant(Duration) override { return StateLease{1}; }
  Status renew(StateLease) override { return ok_status(); }
  Status revoke(StateLease) override { return ok_status(); }

  // A change that was not heard when it was asked for comes now.
  Code hear() { return swap(under_way_.guards, under_way_.changes, 0).status().code(); }

  bool fails = false;
  bool hears_late = false;
  bool loses_answers = false;  // Of what it does.
  std::size_t most = 0;        // Keys of one change.
  std::uint32_t led = 0;       // Schedulers, of all that have had it.

  // It becomes what it was when this was called.
  std::function<void()> backup() {
    return [this, entries = entries_, revision = revision_] {
      entries_ = entries;
      revision_ = revision;
    };
  }

 private:
  struct Call {
    std::vector<StateGuard> guards;
    std::vector<StateChange> changes;
  };
  Call under_way_;
  std::map<std::string, StateEntry> entries_;
  std::uint64_t revision_ = 0;
};

// One scheduler after another of a job with two servers, which each have all ranges, and two workers.
struct KeptJob {
  explicit KeptJob(StoreInMemory& its_store) : store(its_store) {
    auto lead = take_lead(store, ++store.led);
    EXPECT_TRUE(lead.ok()) << lead.status().message();
    state = *std::move(lead);
    options.servers = options.replicas = options.workers = 2;
    options.shards = 4;
    options.tables.resize(1);
    options.tables[0].name = "t";
    options.kept = true;
    options.cluster = 77;
    options.before = state.before;
    options.observer = temporary(100);
    options.on_report = [this](ShardId shard, ReportId number, std::string_view text) {
      reports += std::to_string(shard.value) + "." + std::to_string(number.index) + std::string(text) + " ";
    };
    scheduler.emplace(options);
    if (!state.image.empty()) restored = scheduler->restore(now, state.image, state.reports);
    kept.emplace(*scheduler, &store, state);
  }
  std::vector<std::pair<NodeId, Frame>> tell(NodeId from, Frame frame) {
    kept->on_frame(now, from, std::move(frame), out);
    return out.take();
  }
  // As a driver: what is to be kept is written.
  std::vector<std::pair<NodeId, Frame>> keep() {
    kept->on_time(now, out);
    if (Computation* work = kept->take_work()) {
      work->compute();
      kept->on_computed(now, out);
    }
    return out.take();
  }
  // As a member that has been told no more than that.
  std::vector<std::pair<NodeId, Frame>> beat(NodeId from, const wire::StateMark& told) {
    Frame frame = heartbeat();
    frame.head.map_epoch = scheduler->map().epoch;
    frame.second = encode(told);
    return tell(from, std::move(frame));
  }
  void hear_all(const wire::StateMark& told) {
    for (const NodeId node : {server_node(0), server_node(1), worker_node(0), worker_node(1)})
      beat(node, told);
  }
  void begin() {
    for (std::uint32_t n = 0; n < 4; ++n) tell(temporary(n), join(n < 2 ? Role::kServer : Role::kWorker));
    for (std::uint32_t n = 0; n < 4; ++n) tell(n < 2 ? server_node(n) : worker_node(n - 2), heartbeat());
  }
  // What is to be kept of it is on its way to the store when that hears again.
  void report_unheard() {
    store.hears_late = true;
    tell(worker_node(0), report(0, 1));
    keep();
    store.hears_late = false;
  }
  Frame report(std::uint32_t shard, std::uint32_t number) const {
    Frame frame = make_frame(Op::kReport, Bytes::of("r"));
    frame.head.shard = ShardId{shard};
    frame.head.step = {0, number};
    frame.head.owner_epoch = scheduler->map().shards[shard].owner_epoch;
    return frame;
  }

  StoreInMemory& store;
  KeptState state;
  SchedulerOptions options;
  Status restored;
  std::string reports;
  Instant now{0};
  SentFrames out;
  std::optional<Scheduler> scheduler;
  std::optional<KeptScheduler> kept;
};

}  // namespace thalweg
