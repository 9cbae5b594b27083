#include "net/group/process_group.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

#include "net/group/connection_proof.h"
#include "net/group/group_call.h"
#include "net/group/group_for_test.h"
#include "net/group/rendezvous.h"
#include "net/socket/secret_file.h"

namespace thalweg {
namespace {

std::vector<GroupOptions> patient(std::uint32_t size, GroupTransport transport = GroupTransport::kAuto) {
  auto all = all_of(size);
  for (GroupOptions& options : all) {
    options.patience = 2s;  // Slow machines take their time to answer.
    options.transport = transport;
  }
  return all;
}

TEST(ProcessGroup, TheRankThatNeverCallsIsNamedByAll) {
  std::atomic<int> waiting = 0;
  with_groups(patient(4), [&waiting](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    ProcessGroup& group = **formed;
    if (rank == 3) {
      while (!group.any_lost()) group.wait(live_now() + 1s);
      EXPECT_EQ(group.peer_status(3).code(), Code::kTimeout);
      EXPECT_EQ(group.regroup(1s).status().code(), Code::kRefused);
      return;
    }
    const std::uint64_t operation = group.control()->enter();
    for (++waiting; waiting < 3;) std::this_thread::sleep_for(1ms);
    group.control()->tell(operation, rank + 1, "all-reduce #0");
    const Verdict verdict = group.control()->accuse(rank + 1, "all-reduce #0");
    group.control()->leave(operation);
    EXPECT_EQ(verdict.guilty, 3U);
    EXPECT_NE(verdict.status.message().find("rank 3 is not in an operation; it has been in 0 operations"),
              std::string::npos)
        << verdict.status.message();
    EXPECT_TRUE(group.any_lost());
    EXPECT_EQ(group.peer_status(3), verdict.status);
    EXPECT_TRUE(group.peer_status(rank == 0 ? 1 : 0).ok());
  });
}

// Rank 0 waits for 1, which waits for 2, and goes on with operations of a group that was split off meanwhile.
TEST(ProcessGroup, ARankWithOtherOperationsIsNotBlamedForTheOneThatWaits) {
  std::atomic<bool> waits = false;
  with_groups(patient(3), [&waits](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    GroupControl& control = *(*formed)->control();
    if (rank == 2) {
      while (!control.failed()) (*formed)->wait(live_now() + 1s);
    } else if (rank == 0) {
      while (!waits) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(control.accuse(1, "all-reduce #0").guilty, 2U);
    } else {
      const std::uint64_t operation = control.enter();
      for (Instant tell_at{}; !control.failed();) {
        if (live_now() >= tell_at) {
          control.tell(operation, 2, "all-reduce #0");
          tell_at = live_now() + GroupControl::kTellEvery;
        }
        control.leave(control.enter());
        waits = true;
        std::this_thread::sleep_for(1ms);
      }
      control.leave(operation);
    }
  });
}

TEST(ProcessGroup, ARankThatGivesUpTakesTheOthersOutOfTheirSleep) {
  with_groups(patient(3), [](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    ProcessGroup& group = **formed;
    if (rank == 1) group.control()->give_up(1, {Code::kRefused, "rank 1 calls something else"});
    while (!group.any_lost()) group.wait(live_now() + 20s);
    EXPECT_EQ(group.control()->verdict().guilty, 1U);
    EXPECT_EQ(group.control()->verdict().status, Status(Code::kRefused, "rank 1 calls something else"));
  });
}

TEST(ProcessGroup, LeavingInGoodOrderIsNoFailure) {
  with_groups(patient(2), [](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    if (rank == 1) {
      formed = Status(Code::kAborted, "done");
      return;
    }
    const Instant deadline = live_now() + 20s;
    while (!(*formed)->control()->is_gone(1) && live_now() < deadline) (*formed)->wait(live_now() + 1ms);
    EXPECT_TRUE((*formed)->control()->is_gone(1));
    EXPECT_FALSE((*formed)->control()->failed());
    EXPECT_EQ((*formed)->control()->accuse(1, "all-reduce #0").status.code(), Code::kPeerLost);
  });
}

// Rank 1, played by hand: what it does with its connections is up to `act`, which gets the way to open them.
using Call = std::function<FileDescriptor(Opening::Kind, std::uint16_t channel)>;
constexpr std::array<std::uint64_t, 2> kFirstCall{1, 1};

void prove_and_call(int socket, const Opening& opening) {
  EXPECT_TRUE(send_all(socket, prove_opening(*secret_of_user(), opening), live_now() + 20s).ok());
}
// Until the other rank has all connections that it waits for.
void await_answer_on(const FileDescriptor& socket) {
  Proof answer{};
  EXPECT_TRUE(receive_all(socket.get(), answer, live_now() + 20s).ok());
}

Formed formed_with(const std::function<void(const Call& call)>& act) {
  const auto all = all_of(2);
  std::thread other([&all, &act] {
    const auto addresses = resolve("127.0.0.1", all[1].master_port, live_now() + 20s);
    auto acceptor = GroupAcceptor::listen(*own_address_towards(addresses->front()), false, *secret_of_user());
    Venue venue;
    venue.where = [&all](std::uint32_t) { return std::pair("127.0.0.1", all[1].master_port); };
    venue.deadline = live_now() + 20s;
    const auto meeting = meet(**acceptor, describe_this_process(1, 2, all[1].group), venue);
    ASSERT_TRUE(meeting) << meeting.status().message();
    act([&](Opening::Kind kind, std::uint16_t channel) {
      auto socket = dial(addresses->front(), live_now() + 20s);
      prove_and_call(socket->get(), {kind,
                                     1,
                                     0,
                                     channel,
                                     0,
                                     meeting->table.nonce,
                                     {kFirstCall[0] + channel, static_cast<std::uint64_t>(kind)}});
      return *std::move(socket);
    });
  });
  Formed formed = form_group(all[0]);
  other.join();
  return formed;
}

std::byte byte_of(ProcessGroup& group, std::uint16_t channel) {
  std::byte got{};
  const Instant deadline = live_now() + 20s;
  while (group.read({1, channel}, &got, 1) == 0 && live_now() < deadline) group.wait(live_now() + 10ms);
  return got;
}

// As blame.cc and group_control.cc write it.
constexpr std::array<std::byte, 5> kGoodbye{std::byte{1}, {}, {}, {}, std::byte{4}};

TEST(ProcessGroup, OneThatIsThroughBeforeAnotherHasFormedIsNotLost) {
  const std::array<std::byte, 1> byte{std::byte{42}};
  const Formed formed = formed_with([&byte](const Call& call) {
    FileDescriptor control = call(Opening::Kind::kControl, 0);
    std::this_thread::sleep_for(50ms);
    const FileDescriptor stream = call(Opening::Kind::kStream, 0);
    await_answer_on(control);
    EXPECT_TRUE(send_all(control.get(), byte, live_now() + 20s).ok());
    control.reset();
    EXPECT_TRUE(send_all(stream.get(), byte, live_now() + 20s).ok());
  });
  ASSERT_TRUE(formed) << formed.status().message();
  EXPECT_EQ(byte_of(**formed, 0), byte[0]);
}

TEST(ProcessGroup, OneStreamsEndIsNotAnothers) {
  FileDescriptor goes_on;
  const Formed formed = formed_with([&goes_on](const Call& call) {
    const FileDescriptor control = call(Opening::Kind::kControl, 0);
    call(Opening::Kind::kStream, 0).reset();
    await_answer_on(control);
    EXPECT_TRUE(send_all(control.get(), kGoodbye, live_now() + 20s).ok());
    goes_on = call(Opening::Kind::kStream, 1);
    EXPECT_TRUE(send_all(goes_on.get(), std::array{std::byte{1}}, live_now() + 20s).ok());
  });
  ASSERT_TRUE(formed) << formed.status().message();
  ProcessGroup& group = **formed;
  EXPECT_EQ(byte_of(group, 1), std::byte{1});
  std::byte none{};
  EXPECT_EQ(group.read({1, 1}, &none, 1), 0U);
  const Instant shown = live_now() + 20ms;  // The end of channel 0.
  while (live_now() < shown) group.wait(shown);
  EXPECT_TRUE(group.peer_status(1).ok()) << group.peer_status(1).message();
  EXPECT_TRUE(send_all(goes_on.get(), std::array{std::byte{2}}, live_now() + 20s).ok());
  EXPECT_EQ(byte_of(group, 1), std::byte{2});
  goes_on.reset();
  EXPECT_EQ(group.read({1, 1}, &none, 1), 0U);
  const Instant deadline = live_now() + 20s;
  while (!group.any_lost() && live_now() < deadline) group.wait(deadline);
  EXPECT_EQ(group.peer_status(1).code(), Code::kPeerLost);
}

TEST(ProcessGroup, WhatOneThatLeftSentOnANewStreamArrives) {
  const Formed formed = formed_with([](const Call& call) {
    const FileDescriptor control = call(Opening::Kind::kControl, 0);
    const FileDescriptor first = call(Opening::Kind::kStream, 0), second = call(Opening::Kind::kStream, 1);
    await_answer_on(control);
    EXPECT_TRUE(send_all(control.get(), kGoodbye, live_now() + 20s).ok());
    EXPECT_TRUE(send_all(second.get(), std::array{std::byte{42}}, live_now() + 20s).ok());
  });
  ASSERT_TRUE(formed) << formed.status().message();
  ProcessGroup& group = **formed;
  const Instant deadline = live_now() + 20s;
  while (!group.any_lost() && live_now() < deadline) group.wait(deadline);
  EXPECT_EQ(group.peer_status(1).code(), Code::kPeerLost);
  EXPECT_EQ(byte_of(group, 1), std::byte{42});
}

TEST(ProcessGroup, OneThatDiesWhileTheGroupFormsIsNamed) {
  const Formed formed = formed_with([](const Call& call) { call(Opening::Kind::kControl, 0).reset(); });
  ASSERT_FALSE(formed);
  EXPECT_EQ(formed.status().code(), Code::kPeerLost);
  EXPECT_NE(formed.status().message().find("left while the group formed"), std::string::npos)
      << formed.status().message();
}

// Rank 0, played by hand, has the port of the one that was met, and not the secret.
TEST(ProcessGroup, OneThatCannotAnswerIsNotHeard) {
  const auto all = all_of(2);
  Formed formed = Status(Code::kAborted, "not yet");
  std::thread other([&] { formed = form_group(all[1]); });
  const auto addresses = resolve("127.0.0.1", all[0].master_port, live_now() + 20s);
  const auto acceptor = GroupAcceptor::listen(addresses->front(), false, *secret_of_user());
  Venue venue;
  venue.deadline = live_now() + 20s;
  const auto meeting = meet(**acceptor, describe_this_process(0, 2, all[0].group), venue);
  EXPECT_TRUE(meeting) << meeting.status().message();
  std::optional<GroupAcceptor::Caller> caller;
  while (!caller) {
    (*acceptor)->look(live_now());
    caller = (*acceptor)->take([](const auto& any) { return any.opening.kind == Opening::Kind::kControl; });
  }
  const Proof guess = answer_to(draw_secret(), caller->opening);
  EXPECT_TRUE(send_all(caller->socket.get(), guess, live_now() + 20s).ok());
  other.join();
  EXPECT_EQ(formed.status().code(), Code::kRefused);
  EXPECT_NE(formed.status().message().find("who answers for rank 0"), std::string::npos)
      << formed.status().message();
}

class Regrouping : public testing::TestWithParam<std::tuple<std::uint32_t, GroupTransport>> {};

TEST_P(Regrouping, TheOthersGoOnWithoutTheRankThatIsGone) {
  const auto [gone, transport] = GetParam();
  with_groups(patient(4, transport), [gone = gone](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    exchange_bytes(**formed, rank, 4, 2, 1000);
    if (rank == gone) {
      formed = Status(Code::kAborted, "done");
      return;
    }
    while (!(*formed)->control()->is_gone(gone)) (*formed)->wait(live_now() + 1ms);
    Formed anew = (*formed)->regroup(20s);
    ASSERT_TRUE(anew) << anew.status().message();
    formed = std::move(anew);
    EXPECT_EQ((*formed)->size(), 3U);
    EXPECT_EQ((*formed)->rank(), rank - (rank > gone ? 1U : 0U));
    exchange_bytes(**formed, (*formed)->rank(), 3, 2, 70001);
  });
}

INSTANTIATE_TEST_SUITE_P(ProcessGroup, Regrouping,
                         testing::Combine(testing::Values(0U, 1U, 3U),
                                          testing::Values(GroupTransport::kTcp, GroupTransport::kShm)));

// Rank 3 is gone, and rank 2 comes when the others have gone on without it.
TEST(ProcessGroup, OneThatComesLateIsToldThatTheOthersWentOn) {
  std::atomic<int> formed_anew = 0;
  with_groups(patient(4), [&formed_anew](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    if (rank == 3) {
      formed = Status(Code::kAborted, "done");
      return;
    }
    while (!(*formed)->control()->is_gone(3)) (*formed)->wait(live_now() + 1ms);
    if (rank == 2) {
      while (formed_anew < 2) std::this_thread::sleep_for(1ms);
      const Formed late = (*formed)->regroup(20s);
      ASSERT_FALSE(late);
      EXPECT_EQ(late.status(),
                Status(Code::kRefused, "the group has been formed anew without rank 2, which came late"));
      return;
    }
    const Formed anew = (*formed)->regroup(1s);
    ++formed_anew;
    ASSERT_TRUE(anew) << anew.status().message();
    EXPECT_EQ((*anew)->size(), 2U);
    while (formed_anew < 2) std::this_thread::sleep_for(1ms);
  });
}

TEST(ProcessGroup, MemoryIsSharedOnOneMachine) {
  with_groups(patient(2), [](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    ProcessGroup& group = **formed;
    const auto memory = group.allocate(sizeof(std::uint64_t));
    ASSERT_TRUE(memory);
    const std::uint64_t mine = group.shared_offset(*memory, sizeof mine);
    ASSERT_NE(mine, Fabric::kNotShared);
    const std::uint64_t value = 77 + rank;
    std::memcpy(*memory, &value, sizeof value);
    const Piece piece{static_cast<const std::byte*>(static_cast<const void*>(&mine)), sizeof mine};
    ASSERT_EQ(group.write({1 - rank, 0}, {&piece, 1}), sizeof mine);
    std::uint64_t theirs = 0;
    void* any = &theirs;
    while (group.read({1 - rank, 0}, static_cast<std::byte*>(any), sizeof theirs) == 0)
      group.wait(live_now() + 1s);
    const std::byte* there = group.shared_by(1 - rank, theirs, sizeof theirs);
    ASSERT_NE(there, nullptr);
    std::uint64_t found = 0;
    std::memcpy(&found, there, sizeof found);
    EXPECT_EQ(found, 78 - rank);
    std::byte done{};
    const Piece last{&done, 1};
    ASSERT_EQ(group.write({1 - rank, 0}, {&last, 1}), 1U);
    while (group.read({1 - rank, 0}, &done, 1) == 0) group.wait(live_now() + 1s);
    group.deallocate(*memory);
  });
}

}  // namespace
}  // namespace thalweg
