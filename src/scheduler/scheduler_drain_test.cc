// Servers that are asked to leave: who may, what others get first, and what comes of it.
#include <gtest/gtest.h>

#include "scheduler/members_for_test.h"
#include "wire/drain.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Kind = JobEvent::Kind;

struct DrainedJob : BegunJob {
  DrainedJob(std::uint32_t servers, std::uint32_t replicas, Consistency consistency = {})
      : BegunJob(servers, replicas, consistency, {12}) {}
  // The answer of the scheduler, and nobody else's.
  Frame ask(std::uint32_t server, std::uint32_t request = 1, NodeId asker = temporary(77)) {
    Frame question = make_frame(Op::kDrain, encode(wire::Drain{server}));
    question.head.request = request;
    scheduler.on_frame(now, asker, question, out);
    Frame answer;
    std::vector<std::pair<NodeId, Frame>> others;
    for (auto& [to, sent] : out.take()) {
      if (to == asker) {
        EXPECT_EQ(sent.head.op, Op::kDrainReply);
        EXPECT_EQ(sent.head.request, request);
        answer = sent;
      } else {
        told.emplace_back(to, sent);
      }
    }
    return answer;
  }
  ServerDrain progress(std::uint32_t server) {
    const Frame answer = ask(server);
    EXPECT_TRUE(status_of(answer).ok()) << status_of(answer).message();
    return wire::decode_server_drain(answer.first).value_or(ServerDrain{});
  }
  std::string refusal(std::uint32_t server, std::uint32_t request = 2) {
    const Status status = status_of(ask(server, request));
    EXPECT_EQ(status.code(), Code::kRefused) << status.message();
    return status.message();
  }
  void lose(std::uint32_t server) { scheduler.on_peer_lost(now, server_node(server), out); }
  void confirm_stop(std::uint32_t server) {
    scheduler.on_frame(now, server_node(server), make_frame(Op::kStop), out);
  }
  NodeState state(std::uint32_t server) const { return scheduler.status(now).nodes[server].state; }
  std::vector<Kind> kinds() const {
    std::vector<Kind> all;
    for (const JobEvent& event : scheduler.status(now).events) all.push_back(event.kind);
    return all;
  }

  std::vector<std::pair<NodeId, Frame>> told;
};

TEST(SchedulerDrain, OthersGetWhatAServerHasBeforeItIsTakenOutOfItsChains) {
  DrainedJob job(3, 2);
  ServerDrain drain = job.progress(1);
  EXPECT_FALSE(drain.left);
  EXPECT_EQ(drain.ranges, 8u);  // Four that it owned, and four of which it had copies.
  EXPECT_EQ(drain.copied, 0u);
  EXPECT_EQ(job.state(1), NodeState::kLeaving);
  for (const PlacedRun& run : job.placement().runs()) {
    const bool has = std::ranges::count(run.chain, 1u) > 0;
    EXPECT_EQ(run.chain.size(), has ? 3u : 2u);
    EXPECT_EQ(run.joining != 0, has);
  }
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 12u);
  job.say_joined(0);
  EXPECT_TRUE(job.placement().places(1));
  EXPECT_EQ(job.progress(1).to, (std::vector<std::uint32_t>{0}));
  job.now = job.now + 250ms;
  job.say_joined(2);
  EXPECT_FALSE(job.placement().places(1));
  for (const PlacedRun& run : job.placement().runs()) EXPECT_EQ(run.in_sync().size(), 2u);
  EXPECT_EQ(job.state(1), NodeState::kLeaving) << "until it says that it ends";
  EXPECT_FALSE(job.progress(1).left);
  job.confirm_stop(1);
  EXPECT_EQ(job.state(1), NodeState::kLeft);
  job.now = job.now + 1s;
  drain = job.progress(1);
  EXPECT_TRUE(drain.left);
  EXPECT_EQ(drain.copied, 8u);
  EXPECT_EQ(drain.to, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(drain.took, 250ms);
  EXPECT_FALSE(job.scheduler.stopped().has_value());
  EXPECT_TRUE(job.scheduler.view().failovers.empty());
  EXPECT_EQ(
      job.events.back(),
      "server-1 (127.0.0.1:1) has left; 8 of its 8 key ranges were copied at server-0, server-2, in 0.250 s");
}

TEST(SchedulerDrain, WhereNobodyHasCopiesOthersGetThemToo) {
  DrainedJob job(3, 1);
  EXPECT_EQ(job.progress(0).ranges, 4u);
  EXPECT_EQ(job.placement().joined_by(1).size() + job.placement().joined_by(2).size(), 4u) << "a run each";
  job.say_joined(1);
  job.say_joined(2);
  EXPECT_FALSE(job.placement().places(0));
  EXPECT_EQ(job.placement().owned_by(1).size() + job.placement().owned_by(2).size(), 12u);
  for (const PlacedRun& run : job.placement().runs()) EXPECT_EQ(run.chain.size(), 1u);
  EXPECT_EQ(job.scheduler.place(TableId{0}, {0, 1}, {1}, job.out).code(), Code::kUsage);
}

TEST(SchedulerDrain, AServerThatIsToldToEndHearsItUntilItDoes) {
  DrainedJob job(2, 1);
  job.ask(0);
  job.out.take();
  job.say_joined(1);
  const auto stops = [&] {
    std::size_t count = 0;
    for (const auto& [to, sent] : job.out.take()) {
      if (to != server_node(0)) continue;
      EXPECT_EQ(sent.head.op, Op::kStop) << "it gets no map any more";
      EXPECT_TRUE(status_of(sent).ok());
      ++count;
    }
    return count;
  };
  EXPECT_EQ(stops(), 1u);
  job.scheduler.on_frame(job.now, server_node(0), heartbeat(), job.out);
  EXPECT_EQ(stops(), 1u);
}

// Its word that it ends may be lost.
TEST(SchedulerDrain, AServerThatWasToldToEndHasLeftWhenItIsGone) {
  for (const int way : {0, 1, 2}) {
    DrainedJob job(2, 1);
    job.ask(0);
    job.say_joined(1);
    if (way == 0) {
      job.lose(0);
    } else if (way == 1) {
      Frame failed = make_frame(Op::kEnded);
      put_status(failed, {Code::kIo, "no more"});
      job.scheduler.on_frame(job.now, server_node(0), failed, job.out);
      EXPECT_FALSE(job.scheduler.stopped().has_value()) << "its errors are its own";
      job.lose(0);
    } else {
      for (int beat = 0; beat < 15; ++beat) {
        job.now = job.now + 1s;
        job.scheduler.on_frame(job.now, server_node(1), heartbeat(), job.out);
        job.scheduler.on_frame(job.now, worker_node(0), heartbeat(), job.out);
        job.scheduler.on_time(job.now, job.out);
      }
    }
    EXPECT_EQ(job.state(0), NodeState::kLeft) << way;
    EXPECT_FALSE(job.scheduler.lost(server_node(0))) << way;
    EXPECT_TRUE(job.scheduler.view().failovers.empty()) << way;
  }
}

TEST(SchedulerDrain, RefusesInOneSentence) {
  DrainedJob job(3, 2);
  EXPECT_EQ(job.refusal(3),
            "server-3 cannot leave: there is no such server, expected one of server-0 to server-2");
  job.ask(1);
  EXPECT_EQ(job.refusal(1), "server-1 cannot leave: it is leaving already, see thalweg status");
  EXPECT_EQ(job.refusal(0), "server-0 cannot leave: server-1 is leaving, expected one server at a time");
  job.say_joined(0), job.say_joined(2);
  EXPECT_EQ(job.refusal(1), "server-1 cannot leave: it has left already");
  EXPECT_EQ(
      job.refusal(0),
      "server-0 cannot leave: 1 server would be left for 2 copies of each key range, expected at least 2");
  job.lose(2);
  EXPECT_EQ(job.refusal(2), "server-2 cannot leave: it was lost");
  EXPECT_EQ(job.refusal(0),
            "server-0 cannot leave: it is the last server, expected another to take its key ranges");
  job.scheduler.stop(job.now, ok_status(), job.out);
  EXPECT_EQ(job.refusal(0), "server-0 cannot leave: the job is over");
}

TEST(SchedulerDrain, RefusesWhereCopiesAre) {
  EXPECT_EQ(
      DrainedJob(2, 1, Consistency::softsync(1)).refusal(0),
      "server-0 cannot leave: which pushes make an update depends on who gets them, expected a job in sync, "
      "bounded or async mode");
  DrainedJob placed(2, 1);
  for (const std::uint32_t server : {0u, 1u}) {
    Frame beat = heartbeat();
    beat.head.map_epoch = 1;
    placed.scheduler.on_frame({}, server_node(server), beat, placed.out);
  }
  ASSERT_TRUE(placed.scheduler.place(TableId{0}, {0, 1}, {1}, placed.out).ok());
  EXPECT_EQ(placed.refusal(0),
            "server-0 cannot leave: key ranges have been placed by hand, expected them as a job begins");
}

TEST(SchedulerDrain, RefusesBeforeTheJobBegins) {
  Cluster c(false);
  Frame question = make_frame(Op::kDrain, encode(wire::Drain{0}));
  const auto answers = c.tell(temporary(5), question);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(status_of(answers[0].second).message(),
            "server-0 cannot leave: the job has yet to begin, without server-0, worker-0, worker-1");
  EXPECT_TRUE(c.tell(temporary(5), make_frame(Op::kDrain, Bytes::of(std::string_view("garbage")))).empty());
}

TEST(SchedulerDrain, WhoIsLostBeforeItHasLeftIsAnyLoss) {
  DrainedJob job(4, 2);
  job.ask(1);
  job.lose(1);
  EXPECT_EQ(status_of(job.ask(1)), Status(Code::kPeerLost, "server-1 was lost before it had left"));
  EXPECT_EQ(job.state(1), NodeState::kLost);
  EXPECT_EQ(job.scheduler.view().failovers.size(), 1u);
  EXPECT_FALSE(job.scheduler.leaving().has_value());
  EXPECT_TRUE(status_of(job.ask(2, 9)).ok()) << "another may leave";
}

TEST(SchedulerDrain, WhoIsNeededStays) {
  DrainedJob job(3, 2);
  job.ask(1);
  job.lose(2);
  const std::string why = "server-2 was lost meanwhile, and without server-1 there would be too few servers";
  EXPECT_EQ(status_of(job.ask(1)), Status(Code::kRefused, "server-1 stays: " + why));
  EXPECT_EQ(job.state(1), NodeState::kAlive);
  EXPECT_EQ(std::ranges::count(job.kinds(), Kind::kStays), 1);
  job.say_joined(0), job.say_joined(1);
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 12u);
  EXPECT_TRUE(job.placement().places(1));
}

// Another takes the place of a joiner that is lost.
// It may have died before it could be spoken to.
TEST(SchedulerDrain, WhoIsNeededStaysWhereANewcomerHasYetToSpeak) {
  DrainedJob job(3, 2);
  job.ask(2);
  job.scheduler.on_frame(job.now, temporary(9), join(Role::kServer), job.out);
  job.lose(1);
  EXPECT_EQ(job.state(2), NodeState::kAlive);
  EXPECT_NE(status_of(job.ask(2)).message().find("stays"), std::string::npos);
  for (const PlacedRun& run : job.placement().runs()) EXPECT_EQ(run.chain.size(), 2u);
}

TEST(SchedulerDrain, GoesOnWhereAnotherIsLost) {
  DrainedJob job(4, 2);
  job.ask(1);
  job.lose(0);
  EXPECT_EQ(job.scheduler.leaving(), 1u);
  for (int round = 0; round < 3; ++round) job.say_joined(2), job.say_joined(3);
  EXPECT_TRUE(job.scheduler.has_left(server_node(1)));
  EXPECT_EQ(job.scheduler.ranges_in_sync(), 12u);
}

TEST(SchedulerDrain, TheTimelineSaysSo) {
  DrainedJob job(2, 1);
  job.ask(0);
  job.say_joined(1);
  job.confirm_stop(0);
  const std::vector<Kind> all = job.kinds();
  EXPECT_EQ(std::vector<Kind>(all.end() - 3, all.end()),
            (std::vector<Kind>{Kind::kDraining, Kind::kPromoted, Kind::kLeft}));
}

TEST(SchedulerDrain, AJobThatEndsFirstSaysSo) {
  DrainedJob job(2, 1);
  job.ask(0);
  job.scheduler.stop(job.now, ok_status(), job.out);
  EXPECT_EQ(status_of(job.ask(0)).message(), "server-0 cannot leave: the job has ended before it had left");
}

}  // namespace
}  // namespace thalweg
