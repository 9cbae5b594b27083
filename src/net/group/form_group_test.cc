#include "net/group/form_group.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "net/group/group_acceptor.h"
#include "net/group/group_call.h"
#include "net/group/group_for_test.h"
#include "net/group/rendezvous.h"
#include "net/socket/address.h"
#include "net/socket/reserved_port.h"
#include "net/socket/secret_file.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

TEST(FormGroup, StreamsCarryEveryByteBetweenAllPairs) {
  for (const GroupTransport transport : {GroupTransport::kTcp, GroupTransport::kAuto}) {
    for (const std::uint32_t ranks : {1U, 2U, 5U}) {
      auto all = all_of(ranks);
      for (GroupOptions& options : all) options.transport = transport;
      with_groups(all, [ranks, transport](std::uint32_t rank, Formed& formed) {
        ASSERT_TRUE(formed) << formed.status().message();
        const std::vector<RankPlace> places = (*formed)->places();
        ASSERT_EQ(places.size(), ranks);
        for (std::uint32_t peer = 0; peer < ranks; ++peer) {
          EXPECT_EQ(places[peer].machine, 0U);
          EXPECT_EQ(places[peer].memory, transport == GroupTransport::kAuto ? 0 : peer);
          EXPECT_GE(places[peer].cores, 1U);
        }
        exchange_bytes(**formed, rank, ranks, 1, 1);
        exchange_bytes(**formed, rank, ranks, 3, 70001);
        exchange_bytes(**formed, rank, ranks, 3, 64);
      });
    }
  }
}

std::vector<GroupOptions> all_at(const HeldPort& held, std::uint32_t size) {
  std::vector<GroupOptions> all;
  for (std::uint32_t rank = 0; rank < size; ++rank) all.push_back(options_for(rank, size, held.number));
  all[0].listener = held.socket.get();
  return all;
}

TEST(FormGroup, MeetsAtASocketThatListenedBefore) {
  const Result<HeldPort> held = hold_port();
  ASSERT_TRUE(held) << held.status().message();
  const auto address = resolve("127.0.0.1", held->number, live_now() + 20s);
  EXPECT_FALSE(GroupAcceptor::listen(address->front(), false));  // With SO_REUSEADDR, as a stranger may.
  for (int again = 0; again < 2; ++again) {                      // It is put back.
    with_groups(all_at(*held, 3), [](std::uint32_t rank, Formed& formed) {
      ASSERT_TRUE(formed) << formed.status().message();
      exchange_bytes(**formed, rank, 3, 1, 64);
    });
  }
}

TEST(FormGroup, OneRankAloneNeedsNoPort) {
  const Result<HeldPort> held = hold_port();
  ASSERT_TRUE(held) << held.status().message();
  const Formed one = form_group(options_for(0, 1, held->number));
  const Formed other = form_group(options_for(0, 1, held->number));
  EXPECT_TRUE(one) << one.status().message();
  EXPECT_TRUE(other) << other.status().message();
}

TEST(FormGroup, WhoCallsBeforeRank0IsThereWaits) {
  const Result<HeldPort> held = hold_port();
  ASSERT_TRUE(held) << held.status().message();
  const std::vector<GroupOptions> all = all_at(*held, 2);
  std::thread early([&] {
    Formed formed = form_group(all[1]);
    EXPECT_TRUE(formed) << formed.status().message();
  });
  pollfd called{held->socket.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&called, 1, 20'000), 1);
  Formed formed = form_group(all[0]);
  EXPECT_TRUE(formed) << formed.status().message();
  early.join();
}

TEST(FormGroup, SaysThatItsListenerIsGoneOrInUse) {
  const Result<HeldPort> held = hold_port();
  ASSERT_TRUE(held) << held.status().message();
  GroupOptions options = all_at(*held, 1)[0];
  const Formed first = form_group(options);
  ASSERT_TRUE(first) << first.status().message();
  const int not_open = 1 << 20;
  for (const int listener : {held->socket.get(), 0, not_open}) {
    options.listener = listener;
    const Formed formed = form_group(options);
    EXPECT_EQ(formed.status().code(), Code::kUsage);
    EXPECT_NE(formed.status().message().find("does not listen at 127.0.0.1:"), std::string::npos)
        << formed.status().message();
  }
}

// One rank wants TCP, so that those it is paired with use it; the others share memory.
TEST(FormGroup, EachPairHasATransportOfItsOwn) {
  auto all = all_of(4);
  for (GroupOptions& options : all) options.transport = GroupTransport::kAuto;
  all[2].transport = GroupTransport::kTcp;
  with_groups(all, [](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    const std::vector<RankPlace> places = (*formed)->places();
    for (std::uint32_t peer = 0; peer < 4; ++peer) {
      EXPECT_EQ(places[peer].machine, 0U);
      EXPECT_EQ(places[peer].memory, peer == 2 ? 2U : 0U);
    }
    exchange_bytes(**formed, rank, 4, 2, 70001);
    exchange_bytes(**formed, rank, 4, 2, std::size_t{3} << 20);
  });
}

TEST(FormGroup, AllRanksGoByWhatTheLowestOfAMachineTakes) {
  std::vector<MachineCosts> costs(3);
  costs[0].loopback = {1.5e9, 3e-6, 1e-6};
  costs[0].cache_bytes = 12345;
  costs[2].loopback.latency_seconds = 1;
  with_groups(
      all_of(3),
      [&costs](std::uint32_t, Formed& formed) {
        ASSERT_TRUE(formed) << formed.status().message();
        for (const RankPlace& place : (*formed)->places()) EXPECT_EQ(place.costs, costs[0]);
      },
      costs);
}

TEST(FormGroup, SharedMemoryThatCannotBeIsAnError) {
  auto all = all_of(2);
  all[1].transport = GroupTransport::kShm;
  with_groups(all, [](std::uint32_t rank, Formed& formed) {
    ASSERT_FALSE(formed);
    EXPECT_EQ(formed.status().code(), rank == 0 ? Code::kPeerLost : Code::kUsage);
    if (rank == 0) return;
    EXPECT_NE(formed.status().message().find("cannot share memory"), std::string::npos)
        << formed.status().message();
  });
}

TEST(FormGroup, BackPressureOnLargeStreams) {
  with_groups(all_of(2), [](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    exchange_bytes(**formed, rank, 2, 1, std::size_t{24} << 20);
  });
}

TEST(FormGroup, AWaitEndsAtItsTimeAndWhenWoken) {
  with_groups(all_of(2), [](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    LiveFabric& fabric = **formed;
    const Instant until = live_now() + 20ms;
    while (live_now() < until) fabric.wait(until);
    if (rank == 1) return;
    std::thread waker([&fabric] { fabric.wake(); });
    std::thread waker2([&fabric] { fabric.wake(); });
    fabric.wait(kNever);
    waker.join();
    waker2.join();
  });
}

TEST(FormGroup, TheLostPeerIsNamed) {
  std::atomic<bool> gone = false;
  with_groups(all_of(3), [&gone](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    if (rank == 1) {
      const std::byte last{42};
      const Piece piece{&last, 1};
      ASSERT_EQ((*formed)->write({0, 0}, {&piece, 1}), 1U);
      *formed = nullptr;
      gone = true;
      return;
    }
    while (!gone) std::this_thread::sleep_for(1ms);
    const Instant deadline = live_now() + 20s;
    while (!(*formed)->any_lost() && live_now() < deadline) (*formed)->wait(deadline);
    const Status status = (*formed)->peer_status(1);
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_NE(status.message().find("rank 1 (process "), std::string::npos) << status.message();
    EXPECT_TRUE((*formed)->peer_status(2 - rank).ok());
    std::byte got{};
    EXPECT_EQ((*formed)->read({1, 0}, &got, 1), rank == 0 ? 1U : 0U);  // What it sent before is there.
  });
}

TEST(FormGroup, MissingRanksAreNamedToAll) {
  auto all = all_of(4);
  all.erase(all.begin() + 2);
  all[0].timeout = 2s;  // In which the others come.
  with_groups(all, [](std::uint32_t, Formed& formed) {
    ASSERT_FALSE(formed);
    EXPECT_EQ(formed.status().code(), Code::kTimeout);
    EXPECT_NE(formed.status().message().find("rank 2 did not come"), std::string::npos)
        << formed.status().message();
  });
}

TEST(FormGroup, WithoutALeaderTheErrorSaysWhere) {
  GroupOptions options = options_for(1, 2, port_for_this_test());
  options.timeout = 1s;
  const Formed formed = form_group(options);
  EXPECT_EQ(formed.status().code(), Code::kTimeout);
  EXPECT_NE(formed.status().message().find("rank 0 at 127.0.0.1:" + std::to_string(options.master_port)),
            std::string::npos)
      << formed.status().message();
}

TEST(FormGroup, ThoseWhoDoNotBelongAreRefusedAndDisturbNobody) {
  const std::uint16_t port = port_for_this_test();
  const auto refused = [port](GroupOptions options, const std::string& why) {
    options.master_port = port;
    const Formed formed = form_group(options);
    EXPECT_EQ(formed.status().code(), Code::kRefused);
    EXPECT_NE(formed.status().message().find(why), std::string::npos) << formed.status().message();
  };
  with_groups({options_for(0, 2, port), options_for(1, 2, port)}, [&](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    exchange_bytes(**formed, rank, 2, 1, 1000);
  });
  std::thread leader([port] {
    const Formed formed = form_group(options_for(0, 3, port));
    EXPECT_TRUE(formed) << formed.status().message();
  });
  std::thread second([port] { EXPECT_TRUE(form_group(options_for(1, 3, port))); });
  GroupOptions other = options_for(2, 3, port);
  other.group = "another";
  refused(other, "group 'another'");
  refused(options_for(3, 5, port), "started for a group of 5");
  const RawPeer scanner = RawPeer::connected(port);
  EXPECT_TRUE(scanner.send(
      std::string_view("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything there is\r\n\r\n")));
  scanner.await_close();
  const RawPeer slow = RawPeer::connected(port);
  EXPECT_TRUE(slow.send(std::string_view("TH")));
  EXPECT_TRUE(form_group(options_for(2, 3, port)));
  leader.join();
  second.join();
}

TEST(FormGroup, TheSecondOfOneRankIsRefused) {
  const std::uint16_t port = port_for_this_test();
  std::thread leader([port] {
    const Formed group = form_group(options_for(0, 3, port));
    EXPECT_TRUE(group) << group.status().message();
  });
  std::atomic<int> refused = 0, formed = 0;
  const auto join_as_1 = [&] {
    const Formed group = form_group(options_for(1, 3, port));
    if (group) {
      ++formed;
    } else {
      EXPECT_NE(group.status().message().find("there already is rank 1 (process "), std::string::npos)
          << group.status().message();
      ++refused;
    }
  };
  std::thread one(join_as_1), two(join_as_1);
  while (refused == 0) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(form_group(options_for(2, 3, port)));
  leader.join();
  one.join();
  two.join();
  EXPECT_EQ(formed, 1);
}

// The leader sees at the same time that rank 1 has died and that it calls again.
TEST(FormGroup, OneThatWasStartedAgainTakesItsPlace) {
  const auto addresses = resolve("127.0.0.1", 0, live_now() + 20s);
  const auto acceptor = GroupAcceptor::listen(addresses->front(), false);
  ASSERT_TRUE(acceptor) << acceptor.status().message();
  const Bytes member = encode_member(describe_this_process(1, 2, "default"));
  Opening opening;
  opening.from = 1;
  opening.body_bytes = static_cast<std::uint32_t>(member.size());
  const auto call = [&] {
    RawPeer caller = RawPeer::connected(port_of((*acceptor)->address()));
    std::vector<std::byte> hello(Opening::kBytes);
    std::ranges::copy(encode_opening(opening).span(), hello.begin());
    hello.insert(hello.end(), member.span().begin(), member.span().end());
    std::atomic<bool> said = false;
    std::thread calls([&] {
      EXPECT_TRUE(caller.greet(hello, {}, Handshake::Use::kGroup));
      said = true;
    });
    while (!said) (*acceptor)->look(live_now());
    calls.join();
    return caller;
  };
  call().close();
  const RawPeer again = call();
  Venue venue;
  venue.deadline = live_now() + 20s;
  const auto meeting = meet(**acceptor, describe_this_process(0, 2, "default"), venue);
  ASSERT_TRUE(meeting) << meeting.status().message();
  EXPECT_EQ(meeting->table.members.size(), 2U);
}

TEST(FormGroup, WhatAnswersMayNotBeARank) {
  const auto [listener, port] = RawPeer::listening();
  std::thread server([listening = &listener] {
    const RawPeer caller = listening->accept();
    caller.send(
        std::string_view("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    caller.await_close();
  });
  const Formed formed = form_group(options_for(1, 2, port));
  EXPECT_EQ(formed.status().code(), Code::kRefused);
  EXPECT_NE(formed.status().message().find("not a rank"), std::string::npos) << formed.status().message();
  server.join();
}

// A stranger under the name of rank 1, before rank 1 has called: it is not let in, and the group forms.
TEST(FormGroup, AStrangerTakesNobodysPlace) {
  const std::uint16_t port = port_for_this_test();
  std::thread leader([port] {
    const Formed group = form_group(options_for(0, 2, port));
    EXPECT_TRUE(group) << group.status().message();
  });
  const Bytes member = encode_member(describe_this_process(1, 2, "default"));
  Opening opening;
  opening.from = 1;
  opening.body_bytes = static_cast<std::uint32_t>(member.size());
  const Bytes head = encode_opening(opening);
  std::vector<std::byte> hello(head.span().begin(), head.span().end());
  hello.insert(hello.end(), member.span().begin(), member.span().end());
  const auto address = resolve("127.0.0.1", port, live_now() + 20s)->front();
  for (const Secret& guess : {Secret{}, draw_secret()}) {
    Status status(Code::kRetry, "");
    while (status.code() == Code::kRetry) {  // Until the leader listens.
      auto socket = dial(address, live_now() + 20s);
      status = socket ? prove_and_say(socket->get(), guess, hello, live_now() + 20s) : socket.status();
    }
    EXPECT_NE(status.message().find("both must have the same one"), std::string::npos) << status.message();
  }
  EXPECT_TRUE(form_group(options_for(1, 2, port)));
  leader.join();
}

// A secret that is drawn, as a file for options.
class SecretInMemory {
 public:
  SecretInMemory() : descriptor_(std::move(secret_descriptor(draw_secret())).value()) {}
  std::string path() const { return descriptor_path(descriptor_.get()); }

 private:
  FileDescriptor descriptor_;
};

GroupOptions with_secret(GroupOptions options, const SecretInMemory& secret) {
  options.secret_file = secret.path();
  return options;
}

// The second group's rank 1 calls where the first group's rank 0 listens; once that has gone its own does.
TEST(FormGroup, GroupsWithDifferentSecretsAtOnePortDoNotMix) {
  const std::uint16_t port = port_for_this_test();
  const SecretInMemory one, other;
  Formed leader = Status(Code::kAborted, "not yet"), member = leader.status();
  std::thread leads([&] { leader = form_group(with_secret(options_for(0, 2, port), one)); });
  std::thread strays([&] { member = form_group(with_secret(options_for(1, 2, port), other)); });
  {
    const Formed joined = form_group(with_secret(options_for(1, 2, port), one));
    leads.join();
    EXPECT_TRUE(joined) << joined.status().message();
    EXPECT_TRUE(leader) << leader.status().message();
    leader = Status(Code::kAborted, "over");
  }
  leader = form_group(with_secret(options_for(0, 2, port), other));
  strays.join();
  EXPECT_TRUE(leader) << leader.status().message();
  EXPECT_TRUE(member) << member.status().message();
}

// Neither hangs, and both say that it is the secret.
TEST(FormGroup, AnotherSecretIsAnErrorThatSaysSo) {
  const std::uint16_t port = port_for_this_test();
  const SecretInMemory right;
  const SecretInMemory wrong;
  GroupOptions leader = with_secret(options_for(0, 2, port), right);
  GroupOptions stranger = with_secret(options_for(1, 2, port), wrong);
  leader.timeout = 2s;
  stranger.timeout = 1s;
  with_groups({leader, stranger}, [](std::uint32_t rank, Formed& formed) {
    ASSERT_FALSE(formed);
    EXPECT_EQ(formed.status().code(), Code::kTimeout);
    const char* const why = rank == 0 ? "it does not know the secret" : "both must have the same one";
    EXPECT_NE(formed.status().message().find(why), std::string::npos) << formed.status().message();
  });
}

TEST(FormGroup, AFileThatHoldsNoSecretIsAnErrorAtOnce) {
  GroupOptions options = options_for(0, 2, port_for_this_test());
  options.secret_file = "/no/such/secret";
  EXPECT_EQ(form_group(options).status(),
            Status(Code::kIo, "/no/such/secret: cannot open the secret: No such file or directory"));
}

// What is named is used, whatever else is allowed.
TEST(FormGroup, ASecretIsAskedForWhereOtherMachinesMayCallToo) {
  const std::uint16_t port = port_for_this_test();
  const SecretInMemory secret;
  GroupOptions leader = with_secret(options_for(0, 2, port), secret);
  GroupOptions stranger = options_for(1, 2, port);
  leader.insecure_no_auth = stranger.insecure_no_auth = true;
  leader.timeout = 2s;
  stranger.timeout = 1s;
  with_groups({leader, stranger}, [](std::uint32_t, Formed& formed) { EXPECT_FALSE(formed); });
}

TEST(FormGroup, NothingListensBeyondThisMachineUnasked) {
  GroupOptions options = options_for(0, 2, port_for_this_test());
  options.master_host = "0.0.0.0";
  const Formed formed = form_group(options);
  EXPECT_EQ(formed.status().code(), Code::kUsage);
  EXPECT_NE(formed.status().message().find("--insecure-no-auth"), std::string::npos);
}

// What rank 0 of two says where it listens at `host`.
std::string warning_at(const char* host, const SecretInMemory* secret) {
  std::string said;
  std::vector<GroupOptions> both;
  for (GroupOptions options : all_of(2)) {
    options.master_host = host;
    options.insecure_no_auth = true;
    options.log = [&said](const std::string& line) { said += line; };
    both.push_back(secret ? with_secret(options, *secret) : options);
  }
  with_groups(both, [](std::uint32_t, Formed& formed) { EXPECT_TRUE(formed) << formed.status().message(); });
  return said;
}

TEST(FormGroup, WarnsOnceWhereItListensBeyondThisMachine) {
  EXPECT_EQ(warning_at("127.0.0.1", nullptr), "");
  const std::string open = warning_at("0.0.0.0", nullptr);
  EXPECT_EQ(open.find("insecure_no_auth: rank 0 listens on 0.0.0.0:"), 0U) << open;
  EXPECT_NE(open.find("can join, read and change"), std::string::npos) << open;
  const SecretInMemory secret;
  const std::string closed = warning_at("0.0.0.0", &secret);
  EXPECT_NE(closed.find("whoever is on the way to a rank can read"), std::string::npos) << closed;
}

TEST(FormGroup, RanksAreBelowTheirNumber) {
  EXPECT_EQ(form_group(options_for(2, 2, 1)).status().code(), Code::kUsage);
  EXPECT_EQ(form_group(options_for(0, 0, 1)).status().code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
