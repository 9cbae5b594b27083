#include "scheduler/kept_scheduler.h"

#include <gtest/gtest.h>

#include <utility>

#include "scheduler/kept_job_for_test.h"

namespace thalweg {
namespace {

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

TEST(KeptScheduler, AnImageSaysWhichBarriersAreOpen) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  constexpr BarrierId kPass{0, 1};
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    const auto image = Scheduler::imaged(job.scheduler->image());
    ASSERT_TRUE(image);
    EXPECT_FALSE(image->open.contains(kPass)) << shard;
    const wire::ShardOwner& owner = job.scheduler->map().shards[shard];
    Frame barrier = make_frame(Op::kBarrier);
    barrier.head.shard = ShardId{shard};
    barrier.head.owner_epoch = owner.owner_epoch;
    barrier.head.step = in_place_of_step(kPass);
    job.tell(worker_node(owner.worker), barrier);
  }
  EXPECT_TRUE(Scheduler::imaged(job.scheduler->image())->open.contains(kPass));
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
  EXPECT_EQ(job.kept->fenced()->code(), Code::kRefused);
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
  second.hear_all({1, 1});
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
  EXPECT_EQ(first.kept->fenced()->code(), Code::kRefused);
  EXPECT_TRUE(first.kept->finished());
  EXPECT_EQ(first.tell(server_node(0), make_frame(Op::kGetMap)).size(), 0u);
  EXPECT_EQ(second.scheduler->map().epoch, 1u);
  EXPECT_EQ(KeptJob(store).scheduler->map().epoch, 1u);
}

wire::StateMark mark_of(const std::vector<std::pair<NodeId, Frame>>& frames) {
  const auto said = wire::decode_said_mark(frames.at(0).second.second);
  return said ? said->now : wire::StateMark();
}

TEST(KeptScheduler, SaysNothingOfAJobBeforeAllHaveSaidWhatTheyWereTold) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  const wire::StateMark told = mark_of(first.keep());
  EXPECT_EQ(told, (wire::StateMark{1, 1}));
  KeptJob second(store);
  const auto get_map = [&] { return second.tell(worker_node(0), make_frame(Op::kGetMap)); };
  EXPECT_EQ(count(get_map(), Op::kMap), 0u);
  for (const NodeId node : {server_node(0), server_node(1), worker_node(0)}) {
    const auto answers = second.beat(node, told);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].second.head.op, Op::kHeartbeat) << "it is there";
    EXPECT_TRUE(answers[0].second.second.empty()) << "and nothing is said by its state";
  }
  EXPECT_GE(count(second.beat(worker_node(1), told), Op::kMap), 1u);
  const auto answers = get_map();
  ASSERT_EQ(count(answers, Op::kMap), 1u);
  const auto said = wire::decode_said_mark(answers[0].second.second);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->now, (wire::StateMark{2, 0}));
  EXPECT_EQ(said->heard, told);
}

TEST(KeptScheduler, AwaitsNobodyWhoIsLost) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  const wire::StateMark told = mark_of(first.keep());
  KeptJob second(store);
  for (const NodeId node : {server_node(0), server_node(1), worker_node(0)}) second.beat(node, told);
  second.kept->on_peer_lost(second.now, worker_node(1), second.out);
  EXPECT_GE(count(second.keep(), Op::kMap), 3u);
}

TEST(KeptScheduler, TakesUpNoStateThatIsOlderThanWhatANodeWasTold) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  const wire::StateMark begun = mark_of(first.keep());
  const auto restore = store.backup();
  first.tell(worker_node(0), first.report(0, 1));
  const wire::StateMark told = mark_of(first.keep());
  EXPECT_GT(told.write, begun.write);
  restore();
  KeptJob second(store);
  EXPECT_EQ(count(second.beat(server_node(0), begun), Op::kMap), 0u);
  EXPECT_FALSE(second.kept->fenced());
  EXPECT_EQ(second.beat(worker_node(0), told).size(), 0u);
  ASSERT_TRUE(second.kept->fenced());
  EXPECT_EQ(second.kept->fenced()->code(), Code::kModel);
  EXPECT_NE(
      second.kept->fenced()->message().find("worker-0 was told what the state of this job does not have"),
      std::string::npos)
      << second.kept->fenced()->message();
  EXPECT_TRUE(second.kept->finished());
  // However often that one has written, and whoever has led since.
  KeptJob third(store);
  for (std::uint32_t number = 2; number < 6; ++number) {
    third.tell(worker_node(0), third.report(0, number));
    third.keep();
  }
  third.beat(worker_node(0), told);
  EXPECT_TRUE(third.kept->fenced());
  // Nor one that knows nothing of who led.
  KeptJob fourth(store);
  fourth.beat(server_node(1), {77, 0});
  EXPECT_TRUE(fourth.kept->fenced());
}

TEST(KeptScheduler, WritesNothingMoreWhereItsStateHasGoneBack) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  const auto restore = store.backup();
  job.tell(worker_node(0), job.report(0, 1));
  job.keep();
  restore();
  job.tell(worker_node(0), job.report(0, 2));
  EXPECT_EQ(count(job.keep(), Op::kReportReply), 0u);
  ASSERT_TRUE(job.kept->fenced());
  EXPECT_EQ(job.kept->fenced()->code(), Code::kModel) << job.kept->fenced()->message();
  EXPECT_EQ(store.get("report/")->entries.size(), 0u);
}

TEST(KeptScheduler, SaysWithItsSignsOfLifeThatItMayLeadNoMore) {
  StoreInMemory store;
  KeptJob job(store);
  job.begin();
  job.keep();
  const auto flags = [&] {
    const auto answers = job.beat(server_node(0), {1, 1});
    return count(answers, Op::kHeartbeat) == 1 ? answers[0].second.head.flags : 0xff;
  };
  EXPECT_EQ(flags(), 0);
  job.kept->doubt_lead(true);
  EXPECT_EQ(flags(), wire::kInDoubt);
  store.fails = true;
  job.kept->on_peer_lost(job.now, server_node(1), job.out);
  job.keep();
  EXPECT_EQ(flags(), wire::kInDoubt) << "also where its state is away";
  job.kept->doubt_lead(false);
  EXPECT_EQ(flags(), 0);
}

TEST(KeptScheduler, ForgetsThoseWhoLedLongAgoOnceNobodyWasToldAnythingByThemLast) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  const wire::StateMark told = mark_of(first.keep());
  for (int more = 0; more < 17; ++more) KeptJob{store};  // By number the second to the eighteenth.
  KeptJob next(store);
  const auto leads = [&] { return store.get(kLeadsPrefix)->entries.size(); };
  next.kept->on_peer_lost(next.now, server_node(1), next.out);
  for (const NodeId node : {server_node(0), worker_node(0)}) next.beat(node, told);
  next.keep();
  EXPECT_EQ(leads(), 19u) << "somebody has yet to say what it was told";
  next.beat(worker_node(1), {18, 0});
  store.loses_answers = true;
  next.tell(worker_node(0), next.report(0, 1));
  next.keep();
  store.loses_answers = false;
  next.now = next.now + std::chrono::seconds(1);
  next.keep();
  EXPECT_TRUE(next.kept->settled());
  EXPECT_EQ(leads(), 18u) << "of the second nobody has heard, and 16 are kept";
  // All others have heard of this one: the first is needed no more, and the third is the seventeenth.
  KeptJob last(store);
  EXPECT_EQ(last.reports, "0.1r ");
  const wire::StateMark newest{19, last.state.earlier.back().writes};
  for (const NodeId node : {server_node(0), worker_node(0), worker_node(1)}) last.beat(node, newest);
  last.tell(worker_node(0), last.report(0, 2));
  last.keep();
  EXPECT_EQ(leads(), 17u);
  // Who is lost may still have heard of none but those, and is told that it is lost.
  KeptJob after(store);
  after.beat(server_node(1), told);
  EXPECT_FALSE(after.kept->fenced());
  after.beat(worker_node(1), told);
  EXPECT_TRUE(after.kept->fenced());
}

// Seeds 84606558 and 84621461 of `simulate faults --schedulers`.
TEST(KeptScheduler, KnowsWhoeverLedJustNowByAWordThatIsHeardLate) {
  StoreInMemory store;
  KeptJob first(store);
  first.begin();
  const wire::StateMark told = mark_of(first.keep());
  KeptJob second(store), third(store);
  third.hear_all(told);
  third.tell(worker_node(0), third.report(0, 1));
  third.keep();
  KeptJob fourth(store);
  fourth.beat(worker_node(0), {second.state.number, 0});
  EXPECT_FALSE(fourth.kept->fenced());
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
  const auto state = take_lead(store, ++store.led);
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
  EXPECT_EQ(restore([](auto& options) { options.workers = 3; }, state->image).message(),
            "the state is of a job with 2 workers, expected one with 3");
  EXPECT_EQ(restore([](auto& options) { options.replicas = 1; }, state->image).message(),
            "the state is of a job with 2 copies of each key range, expected one with 1");
  EXPECT_EQ(restore([](auto& options) { options.combine = Combining::tree(2); }, state->image).message(),
            "the state is of a job whose pushes are combined by nobody, expected tree:2");
  for (std::size_t size = 0; size < state->image.size(); ++size)
    EXPECT_EQ(restore(same, state->image.substr(0, size)).code(), Code::kModel) << size;
  EXPECT_EQ(restore(same, state->image + "x").code(), Code::kModel);
}

}  // namespace
}  // namespace thalweg
