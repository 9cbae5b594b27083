#include "scheduler/kept_scheduler.h"

#include <gtest/gtest.h>

#include <utility>

#include "scheduler/members_for_test.h"

namespace thalweg {
namespace {

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
    for (const StateChange& change : changes) entries_[change.key] = {*change.value, revision_};
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
    auto lead = take_lead(store);
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

std::size_t count(const std::vector<std::pair<NodeId, Frame>>& frames, Op op) {
  return static_cast<std::size_t>(
      std::ranges::count_if(frames, [&](const auto& one) { return one.second.head.op == op; }));
}

TEST(KeptScheduler, SaysNothingThatIsNotKept) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  ASSERT_TRUE(job.scheduler->started());
  EXPECT_FALSE(job.kept->settled());
  EXPECT_EQ(count(job.tell(server_node(0), make_frame(Op::kGetMap)), Op::kMap), 0u);
  EXPECT_GE(count(job.keep(), Op::kMap), 4u);
  EXPECT_TRUE(job.kept->settled());
  EXPECT_EQ(count(job.tell(server_node(0), make_frame(Op::kGetMap)), Op::kMap), 1u);
  const auto map = job.scheduler->map();
  EXPECT_TRUE(map.scheduler_kept);
  EXPECT_EQ(count(job.tell(worker_node(0), job.report(0, 1)), Op::kReportReply), 0u);
  EXPECT_EQ(count(job.keep(), Op::kReportReply), 1u);
}

TEST(KeptScheduler, SaysThatItIsThereWhileAStoreIsNot) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  store.fails = true;
  job.kept->on_peer_lost(job.now, server_node(1), job.out);
  EXPECT_EQ(count(job.out.take(), Op::kMap), 0u);
  EXPECT_EQ(job.scheduler->map().epoch, 2u);
  EXPECT_EQ(job.keep().size(), 0u);
  EXPECT_EQ(job.kept->trouble().code(), Code::kIo);
  for (int i = 0; i < 20; ++i) {
    job.now = job.now + std::chrono::milliseconds(300);
    Frame beat = heartbeat();
    beat.head.map_epoch = 1;
    const auto answers = job.tell(server_node(0), std::move(beat));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.op, Op::kHeartbeat);
    EXPECT_EQ(answers[0].second.head.map_epoch, 1u);  // Of the second map nothing is said.
    EXPECT_EQ(job.keep().size(), 0u);
  }
  // Who asks how the job is may know of what waits.
  EXPECT_EQ(count(job.tell(temporary(9), make_frame(Op::kStatus)), Op::kStatusReply), 1u);
  store.fails = false;
  job.now = job.now + std::chrono::seconds(1);
  EXPECT_GE(count(job.keep(), Op::kMap), 3u);
  EXPECT_TRUE(job.kept->trouble().ok());
}

// However long that takes: a report or a barrier that waits for the store is never overdue.
TEST(KeptScheduler, TellsWhoeverAsksToWaitWhileAStoreIsNotThere) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  store.fails = true;
  Frame barrier = make_frame(Op::kBarrier);
  barrier.head.shard = ShardId{1};
  barrier.head.owner_epoch = job.scheduler->map().shards[1].owner_epoch;
  EXPECT_EQ(job.tell(worker_node(0), job.report(0, 1)).size(), 0u);
  EXPECT_EQ(job.tell(worker_node(1), barrier).size(), 0u) << "a store may take a moment";
  std::uint64_t progress = 0;
  for (int i = 0; i < 12; ++i) {
    job.now = job.now + std::chrono::milliseconds(600);
    EXPECT_EQ(job.keep().size(), 0u);
    for (const auto& [node, asked] :
         {std::pair(worker_node(0), job.report(0, 1)), std::pair(worker_node(1), barrier)}) {
      const auto answers = job.tell(node, asked);
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0].second.head.op, Op::kWaiting);
      EXPECT_EQ(answers[0].second.head.shard, asked.head.shard);
      const auto waiting = wire::decode_waiting(answers[0].second.first);
      ASSERT_TRUE(waiting);
      EXPECT_NE(std::exchange(progress, waiting->progress), waiting->progress);
    }
  }
  store.fails = false;
  job.now = job.now + std::chrono::seconds(1);
  EXPECT_GE(count(job.keep(), Op::kReportReply), 1u);
  EXPECT_EQ(count(job.tell(worker_node(0), job.report(0, 1)), Op::kReportReply), 1u);
}

// What is not known to be there is written again, and then it is.
TEST(KeptScheduler, RepeatsAWriteWhoseAnswerWasLost) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  store.loses_answers = true;
  job.tell(worker_node(0), job.report(0, 1));
  EXPECT_EQ(count(job.keep(), Op::kReportReply), 0u);
  EXPECT_EQ(job.kept->trouble().code(), Code::kTimeout);
  EXPECT_EQ(store.get("report/")->entries.size(), 1u);
  store.loses_answers = false;
  job.now = job.now + std::chrono::seconds(1);
  EXPECT_EQ(count(job.keep(), Op::kReportReply), 1u);
  EXPECT_TRUE(job.kept->settled());
  KeptJob second(store);
  EXPECT_EQ(second.reports, "0.1r ");
}

// A server is lost, and another one before that is known to be kept: the first change comes last.
TEST(KeptScheduler, AChangeThatComesLateUndoesNoLaterOne) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  job.report_unheard();
  EXPECT_FALSE(job.kept->settled());
  job.kept->on_peer_lost(job.now, server_node(1), job.out);
  job.now = job.now + std::chrono::seconds(1);
  job.keep();
  EXPECT_TRUE(job.kept->settled());
  const std::string image = store.get(kJobKey)->entries.at(kJobKey).value;
  EXPECT_EQ(store.hear(), Code::kStale);
  EXPECT_EQ(store.get(kJobKey)->entries.at(kJobKey).value, image);
  EXPECT_EQ(store.get("report/")->entries.size(), 1u);
}

TEST(KeptScheduler, GoesOnWhereAChangeHasCountedBeforeItIsRepeated) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  job.report_unheard();
  EXPECT_EQ(store.hear(), Code::kOk);
  job.now = job.now + std::chrono::seconds(1);
  EXPECT_EQ(count(job.keep(), Op::kReportReply), 1u);
  EXPECT_TRUE(job.kept->settled());
  EXPECT_FALSE(job.kept->fenced());
}

TEST(KeptScheduler, AChangeThatComesWhenAnotherOneLeadsIsOfNoEffect) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  first.keep();
  first.report_unheard();
  KeptJob second(store);
  EXPECT_EQ(store.hear(), Code::kStale);
  first.now = first.now + std::chrono::seconds(1);
  EXPECT_EQ(first.keep().size(), 0u);
  EXPECT_TRUE(first.kept->fenced());
  EXPECT_EQ(second.reports, "");
}

// What has collected while a store was away is more than it takes at once.
TEST(KeptScheduler, WritesManyReportsOneAfterTheOther) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  store.fails = true;
  constexpr std::uint32_t kReports = 1200;
  for (std::uint32_t number = 1; number <= kReports; ++number)
    job.tell(worker_node(0), job.report(0, number));
  job.kept->on_peer_lost(job.now, server_node(1), job.out);
  job.keep();
  store.fails = false;
  job.now = job.now + std::chrono::seconds(1);
  std::vector<std::size_t> kept, maps;
  while (!job.kept->settled() && kept.size() < 9) {
    maps.push_back(count(job.keep(), Op::kMap));
    kept.push_back(store.get("report/")->entries.size());
  }
  EXPECT_EQ(kept, (std::vector<std::size_t>{500, 1000, 1200}));
  EXPECT_EQ(maps[0] + maps[1], 0u);  // Nothing is said before all of it is there.
  EXPECT_GE(maps[2], 3u);
  EXPECT_EQ(store.most, 501u) << "and which write it is";
}

TEST(KeptScheduler, LosesTheLeadThatAnotherOneHasTaken) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  job.kept->lose_lead();
  EXPECT_EQ(job.kept->fenced()->code(), Code::kAborted);
  EXPECT_TRUE(job.kept->finished());
  EXPECT_EQ(job.tell(server_node(0), heartbeat()).size(), 0u);
}

TEST(KeptScheduler, AnotherOneTakesTheJobUp) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  first.tell(worker_node(0), first.report(0, 1));
  first.tell(worker_node(1), first.report(1, 1));
  first.tell(worker_node(0), first.report(0, 2));
  first.kept->on_peer_lost(first.now, server_node(1), first.out);
  first.keep();
  ASSERT_TRUE(first.kept->settled());

  KeptJob second(store);
  ASSERT_TRUE(second.restored.ok()) << second.restored.message();
  EXPECT_EQ(second.scheduler->image(), first.scheduler->image());
  EXPECT_EQ(second.reports, "0.1r 0.2r 1.1r ");
  EXPECT_EQ(second.scheduler->map().epoch, 2u);
  EXPECT_TRUE(second.scheduler->lost(server_node(1)));
  EXPECT_EQ(second.scheduler->view().failovers.size(), 1u);
  EXPECT_EQ(Scheduler::cluster_of(second.state.image), 77u);
  EXPECT_EQ(second.scheduler->status({}).events.back().kind, JobEvent::Kind::kResumed);
  // What has been said goes on: a report again is none, a member has its name, and the observer another one.
  second.tell(worker_node(0), second.report(0, 2));
  second.keep();
  EXPECT_EQ(second.reports, "0.1r 0.2r 1.1r ");
  EXPECT_EQ(second.tell(server_node(0), heartbeat()).size(), 1u);
  second.tell(temporary(100), join(Role::kWorker, true));
  std::optional<NodeId> observer;
  for (const auto& [to, frame] : second.keep()) {
    if (frame.head.op == Op::kWelcome) observer = wire::decode_welcome(frame.first)->id;
  }
  if (!observer) {
    for (const auto& [to, frame] : second.tell(temporary(100), join(Role::kWorker, true))) {
      if (frame.head.op == Op::kWelcome) observer = wire::decode_welcome(frame.first)->id;
    }
  }
  EXPECT_EQ(observer, worker_node(wire::kFirstObserver + 1));
}

TEST(KeptScheduler, WhoHasLostTheLeadSaysNothingAnyMore) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  first.keep();
  KeptJob second(store);
  first.kept->on_peer_lost(first.now, server_node(1), first.out);
  EXPECT_EQ(count(first.keep(), Op::kMap), 0u);
  ASSERT_TRUE(first.kept->fenced());
  EXPECT_EQ(first.kept->fenced()->code(), Code::kAborted);
  EXPECT_TRUE(first.kept->finished());
  EXPECT_EQ(first.tell(server_node(0), make_frame(Op::kGetMap)).size(), 0u);
  EXPECT_EQ(second.scheduler->map().epoch, 1u);
  EXPECT_EQ(KeptJob(store).scheduler->map().epoch, 1u);
}

TEST(KeptScheduler, AJobThatIsOverStaysSo) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  first.keep();
  first.kept->turn(first.out, [&](Transport& gate) {
    first.scheduler->stop(first.now, {Code::kAborted, "enough"}, gate);
  });
  EXPECT_EQ(count(first.out.take(), Op::kStop), 0u);
  EXPECT_EQ(count(first.keep(), Op::kStop), 2u);
  KeptJob second(store);
  ASSERT_TRUE(second.scheduler->stopped());
  EXPECT_EQ(second.scheduler->stopped()->message(), "enough");
  EXPECT_EQ(count(second.tell(worker_node(0), heartbeat()), Op::kStop), 1u);
}

TEST(KeptScheduler, TakesUpNoOtherJob) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  first.keep();
  const auto state = take_lead(store);
  ASSERT_TRUE(state.ok());
  const auto restore = [&](const std::function<void(SchedulerOptions&)>& change, std::string image) {
    SchedulerOptions options = first.options;
    options.on_report = nullptr;
    change(options);
    return Scheduler(options).restore({}, image, {});
  };
  const auto same = [](SchedulerOptions&) {};
  EXPECT_TRUE(restore(same, state->image).ok());
  EXPECT_EQ(restore([](auto& options) { options.shards = 5; }, state->image).code(), Code::kUsage);
  EXPECT_EQ(restore([](auto& options) { options.servers = 3; }, state->image).code(), Code::kUsage);
  EXPECT_EQ(restore([](auto& options) { options.job = "other"; }, state->image).code(), Code::kUsage);
  for (std::size_t size = 0; size < state->image.size(); ++size)
    EXPECT_EQ(restore(same, state->image.substr(0, size)).code(), Code::kModel) << size;
  EXPECT_EQ(restore(same, state->image + "x").code(), Code::kModel);
}

}  // namespace
}  // namespace thalweg
