#include "net/group/group_acceptor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "base/limits.h"
#include "net/group/connection_proof.h"
#include "net/group/group_call.h"
#include "net/group/rendezvous.h"
#include "net/live_fabric.h"
#include "net/socket/few_descriptors_for_test.h"
#include "net/socket/handshake.h"
#include "net/socket/secret_file.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<GroupAcceptor> open_acceptor() {
  const auto any = resolve("127.0.0.1", 0, live_now() + 20s);
  auto acceptor = GroupAcceptor::listen(any->front(), false);
  EXPECT_TRUE(acceptor) << acceptor.status().message();
  return *std::move(acceptor);
}

FileDescriptor call(const GroupAcceptor& acceptor, std::uint32_t from) {
  auto socket = dial(acceptor.address(), live_now() + 20s);
  EXPECT_TRUE(socket) << socket.status().message();
  const Opening opening{Opening::Kind::kControl, from, 0, 0, 0, {}, {from, 1}};
  EXPECT_TRUE(send_all(socket->get(), prove_opening({}, opening), live_now() + 20s).ok());
  return *std::move(socket);
}

std::size_t take_all(GroupAcceptor& acceptor) {
  std::size_t heard = 0;
  while (acceptor.take([](const auto&) { return true; })) ++heard;
  return heard;
}

// All ranks of a large group call one that has been busy.
TEST(GroupAcceptor, HearsAllWhoHaveCalledBeforeItLooks) {
  const auto acceptor = open_acceptor();
  constexpr auto kCallers = static_cast<std::uint32_t>(limits::kConnectionsBeforeHelloMax) + 40;
  std::vector<FileDescriptor> callers;
  for (std::uint32_t from = 0; from < kCallers; ++from) callers.push_back(call(*acceptor, from));
  acceptor->look(live_now());
  EXPECT_EQ(take_all(*acceptor), kCallers) << acceptor->last_dropped();
}

// Ranks that call a process without descriptors do not call again: none is hung up on.
TEST(GroupAcceptor, WithoutDescriptorsRanksWaitForThem) {
  const auto acceptor = open_acceptor();
  std::vector<FileDescriptor> callers;
  for (std::uint32_t from = 1; from <= 3; ++from) callers.push_back(call(*acceptor, from));
  const Instant begin = live_now();
  std::vector<pollfd> watched;
  {
    const FewDescriptors none(0);
    acceptor->look(begin);
    EXPECT_TRUE(acceptor->shortage(2s).ok());
    acceptor->look(begin + 3s);
    EXPECT_EQ(acceptor->shortage(2s).code(), Code::kIo);
    EXPECT_NE(acceptor->shortage().message().find("Too many open files"), std::string::npos)
        << acceptor->shortage().message();
    EXPECT_LT(acceptor->watch(watched), begin + 4s);
    EXPECT_TRUE(watched.empty());  // What waits in the queue would end every sleep.
  }
  acceptor->look(begin + 3s);
  EXPECT_TRUE(acceptor->shortage().ok()) << acceptor->shortage().message();
  EXPECT_EQ(acceptor->watch(watched), kNever);
  EXPECT_EQ(watched.size(), 1U);
  EXPECT_EQ(take_all(*acceptor), 3U);
  EXPECT_EQ(acceptor->dropped(), 0U);
}

// Nobody but strangers calls a process without descriptors: they are taken off the queue one after another.
TEST(GroupAcceptor, WithoutDescriptorsStrangersKeepNobodyOut) {
  const auto acceptor = open_acceptor();
  std::vector<FileDescriptor> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(*dial(acceptor->address(), live_now() + 20s));
  Instant now = live_now();
  {
    const FewDescriptors none(0);
    for (std::uint64_t i = 0; i < crowd.size(); ++i, now = now + 200ms) {
      acceptor->look(now);
      EXPECT_TRUE(acceptor->shortage(300ms).ok()) << acceptor->shortage().message();
      EXPECT_EQ(acceptor->dropped(), i);
    }
  }
  const FileDescriptor honest = call(*acceptor, 1);
  const FewDescriptors none(0);
  acceptor->look(now);
  EXPECT_EQ(take_all(*acceptor), 1U);
}

// Most say nothing, the others half of what a rank says: neither takes what this process needs for itself.
TEST(GroupAcceptor, CallersThatAreSilentLeaveDescriptorsToTheProcess) {
  const FewDescriptors few(200);
  const auto acceptor = open_acceptor();
  const auto said = prove_opening({}, {Opening::Kind::kControl, 1, 0, 0, 0, {}, {1, 1}});
  constexpr std::size_t kCrowd = 120;  // Theirs are of this process as well.
  std::deque<FileDescriptor> crowd;
  for (std::size_t i = 0; i < 3 * kCrowd; ++i) {
    auto socket = dial(acceptor->address(), live_now() + 20s);
    ASSERT_TRUE(socket) << socket.status().message();
    if (i % 4 == 0) {
      EXPECT_TRUE(send_all(socket->get(), std::span(said).first(said.size() - 1), live_now() + 20s).ok());
    }
    crowd.push_back(*std::move(socket));
    acceptor->look(live_now());
    ASSERT_TRUE(acceptor->shortage().ok()) << acceptor->shortage().message();
    if (crowd.size() > kCrowd) crowd.pop_front();
  }
  const FileDescriptor honest = call(*acceptor, 1);
  acceptor->look(live_now());
  EXPECT_TRUE(acceptor->take([](const auto&) { return true; }));
}

// Its descriptors are used up by others: a caller that is silent makes room for one that is not.
TEST(GroupAcceptor, WithoutDescriptorsTheSilentMakeRoom) {
  const auto acceptor = open_acceptor();
  const auto silent = dial(acceptor->address(), live_now() + 20s);
  ASSERT_TRUE(silent) << silent.status().message();
  acceptor->look(live_now());
  std::vector<FileDescriptor> honest;
  for (std::uint32_t from = 1; from <= 2; ++from) honest.push_back(call(*acceptor, from));
  {
    const FewDescriptors none(0);
    acceptor->look(live_now() + 1s);
  }
  EXPECT_TRUE(acceptor->shortage().ok()) << acceptor->shortage().message();
  EXPECT_EQ(acceptor->dropped(), 1U);
  EXPECT_EQ(take_all(*acceptor), 2U);
}

// A rank that was kept from its first words for a moment, and does not call again.
TEST(GroupAcceptor, WithoutDescriptorsWhoHasJustCalledKeepsTheReserve) {
  const auto acceptor = open_acceptor();
  const Instant now = live_now();
  const auto slow = dial(acceptor->address(), now + 20s);
  ASSERT_TRUE(slow) << slow.status().message();
  std::vector<FileDescriptor> others;
  for (std::uint32_t from = 2; from <= 3; ++from) others.push_back(call(*acceptor, from));
  {
    const FewDescriptors none(0);
    acceptor->look(now);
    acceptor->look(now + 50ms);
    EXPECT_FALSE(acceptor->shortage().ok());
    const Opening opening{Opening::Kind::kControl, 1, 0, 0, 0, {}, {1, 1}};
    EXPECT_TRUE(send_all(slow->get(), prove_opening({}, opening), now + 20s).ok());
    acceptor->look(now + 2s);
  }
  EXPECT_EQ(acceptor->dropped(), 0U) << acceptor->last_dropped();
  EXPECT_EQ(take_all(*acceptor), 1U);
  acceptor->look(now + 3s);
  EXPECT_EQ(take_all(*acceptor), 2U);
}

// Callers at an acceptor of a group whose secret is drawn, on both of its sockets.
class GroupAcceptorSecret : public testing::TestWithParam<bool> {
 protected:
  GroupAcceptorSecret() {
    const auto any = resolve("127.0.0.1", 0, live_now() + 20s);
    auto acceptor = GroupAcceptor::listen(any->front(), false, secret_);
    EXPECT_TRUE(acceptor) << acceptor.status().message();
    acceptor_ = *std::move(acceptor);
    EXPECT_TRUE(acceptor_->listen_locally().ok());
  }
  FileDescriptor call() const {
    auto socket = GetParam() ? dial_locally(acceptor_->local_name(), live_now() + 20s)
                             : dial(acceptor_->address(), live_now() + 20s);
    EXPECT_TRUE(socket) << socket.status().message();
    return *std::move(socket);
  }
  static std::vector<std::byte> hello() {
    const Bytes member = encode_member(describe_this_process(1, 2, "default"));
    Opening opening;
    opening.from = 1;
    opening.body_bytes = static_cast<std::uint32_t>(member.size());
    const Bytes head = encode_opening(opening);
    std::vector<std::byte> all(head.span().begin(), head.span().end());
    all.insert(all.end(), member.span().begin(), member.span().end());
    return all;
  }
  // While the acceptor looks.
  template <class Say>
  void during(const Say& say) {
    std::atomic<bool> over = false;
    std::thread caller([&] {
      say();
      over = true;
    });
    while (!over) acceptor_->look(live_now());
    caller.join();
    acceptor_->look(live_now());
  }
  // All that is said to the caller until it is hung up on.
  static std::vector<std::byte> told(const FileDescriptor& socket) {
    std::vector<std::byte> all;
    for (std::byte byte{}; receive_all(socket.get(), {&byte, 1}, live_now() + 20s).ok();) all.push_back(byte);
    return all;
  }
  // What is told to who says these bytes and hangs up.
  std::vector<std::byte> told_to(std::span<const std::byte> said) {
    const FileDescriptor socket = call();
    std::vector<std::byte> all;
    during([&] {
      EXPECT_TRUE(send_all(socket.get(), said, live_now() + 20s).ok());
      ::shutdown(socket.get(), SHUT_WR);
      all = told(socket);
    });
    return all;
  }
  bool anybody() {
    return acceptor_->take([](const auto&) { return true; }).has_value();
  }

  const Secret secret_ = draw_secret();
  std::unique_ptr<GroupAcceptor> acceptor_;
};

TEST_P(GroupAcceptorSecret, WhoKnowsItIsHeard) {
  const FileDescriptor socket = call();
  during([&] { EXPECT_TRUE(prove_and_say(socket.get(), secret_, hello(), live_now() + 20s).ok()); });
  const auto caller = acceptor_->take([](const auto&) { return true; });
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->opening.from, 1U);
  EXPECT_TRUE(decode_member(caller->body));
}

TEST_P(GroupAcceptorSecret, AStrangerIsToldAChallengeAndNothingElse) {
  for (const Secret& guess : {Secret{}, draw_secret()}) {
    const FileDescriptor socket = call();
    Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kGroup, guess, draw_nonce());
    handshake.say(hello());
    during([&] {
      Handshake::Nonce nonce;
      EXPECT_TRUE(send_all(socket.get(), handshake.take_output(), live_now() + 20s).ok());
      EXPECT_TRUE(receive_all(socket.get(), nonce, live_now() + 20s).ok());
      EXPECT_TRUE(handshake.take(nonce).ok());
      EXPECT_TRUE(send_all(socket.get(), handshake.take_output(), live_now() + 20s).ok());
      EXPECT_TRUE(told(socket).empty());
    });
    EXPECT_NE(acceptor_->last_dropped().find("it does not know the secret"), std::string::npos)
        << acceptor_->last_dropped();
  }
  EXPECT_EQ(acceptor_->dropped(), 2U);
  EXPECT_FALSE(anybody());
}

TEST_P(GroupAcceptorSecret, WhoAsksToJoinWithoutAProofIsDropped) {
  const FileDescriptor socket = call();
  during([&] {
    EXPECT_TRUE(send_all(socket.get(), hello(), live_now() + 20s).ok());
    EXPECT_TRUE(told(socket).empty());
  });
  EXPECT_NE(acceptor_->last_dropped().find("has not proven"), std::string::npos) << acceptor_->last_dropped();
  EXPECT_FALSE(anybody());
}

TEST_P(GroupAcceptorSecret, AHandshakeThatWasRecordedOpensNothing) {
  const FileDescriptor honest = call();
  Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kGroup, secret_, draw_nonce());
  handshake.say(hello());
  std::vector<std::byte> recorded;
  during([&] {
    while (!handshake.heard()) {
      const auto out = handshake.take_output();
      recorded.insert(recorded.end(), out.begin(), out.end());
      ASSERT_TRUE(send_all(honest.get(), out, live_now() + 20s).ok());
      std::vector<std::byte> in(handshake.wanted());
      ASSERT_TRUE(receive_all(honest.get(), in, live_now() + 20s).ok());
      ASSERT_TRUE(handshake.take(in).ok());
    }
  });
  EXPECT_TRUE(anybody());
  const FileDescriptor stranger = call();
  during([&] {
    EXPECT_TRUE(send_all(stranger.get(), recorded, live_now() + 20s).ok());
    EXPECT_EQ(told(stranger).size(), sizeof(Handshake::Nonce));
  });
  EXPECT_FALSE(anybody());
}

TEST_P(GroupAcceptorSecret, ACrowdThatGreetsAndProvesNothingKeepsNobodyOut) {
  Handshake handshake(Handshake::Side::kDialler, Handshake::Use::kGroup, {}, draw_nonce());
  const auto greeting = handshake.take_output();
  std::vector<FileDescriptor> crowd;
  for (std::size_t i = 0; i < limits::kConnectionsBeforeHelloMax + 20; ++i) {
    crowd.push_back(call());
    EXPECT_TRUE(send_all(crowd.back().get(), greeting, live_now() + 20s).ok());
    acceptor_->look(live_now());
  }
  EXPECT_EQ(acceptor_->dropped(), 20U);
  const FileDescriptor socket = call();
  during([&] { EXPECT_TRUE(prove_and_say(socket.get(), secret_, hello(), live_now() + 20s).ok()); });
  EXPECT_TRUE(anybody());
}

// Who reads the wire learns the group's number and which connections there are, which proves nothing.
TEST_P(GroupAcceptorSecret, WhoKnowsTheGroupsNumberAloneOpensNothing) {
  const GroupNonce group{3, 4};
  acceptor_->belong_to(group);
  for (const auto kind : {Opening::Kind::kStream, Opening::Kind::kControl, Opening::Kind::kLocal}) {
    const Opening opening{kind, 1, 0, 0, 0, group, {5, 6}};
    EXPECT_TRUE(told_to(encode_opening(opening).span()).empty());
    for (const Secret& guess : {Secret{}, draw_secret()}) {
      EXPECT_TRUE(told_to(prove_opening(guess, opening)).empty());
      EXPECT_NE(acceptor_->last_dropped().find("has not proven"), std::string::npos)
          << acceptor_->last_dropped();
    }
    std::vector<std::byte> reflected = prove_opening(secret_, opening);
    const Proof answer = answer_to(secret_, opening);
    std::copy(answer.begin(), answer.end(), reflected.begin() + Opening::kBytes);
    EXPECT_TRUE(told_to(reflected).empty());
  }
  EXPECT_EQ(acceptor_->dropped(), 12U);
  EXPECT_FALSE(anybody());
}

TEST_P(GroupAcceptorSecret, ABitOfAProvenOpeningIsNotAnothers) {
  const std::vector<std::byte> said =
      prove_opening(secret_, {Opening::Kind::kStream, 1, 0, 7, 0, {3, 4}, {5, 6}});
  for (std::size_t byte = 0; byte < said.size(); ++byte) {
    std::vector<std::byte> changed = said;
    changed[byte] ^= std::byte{1};
    EXPECT_TRUE(told_to(changed).empty()) << byte;
  }
  EXPECT_FALSE(anybody());
}

TEST_P(GroupAcceptorSecret, AnOpeningThatWasRecordedOpensNothingAgain) {
  const GroupNonce group{3, 4};
  const auto said = prove_opening(secret_, {Opening::Kind::kStream, 1, 0, 7, 0, group, {5, 6}});
  const auto say = [&] {
    FileDescriptor socket = call();
    EXPECT_TRUE(send_all(socket.get(), said, live_now() + 20s).ok());
    acceptor_->look(live_now());
    return socket;
  };
  const FileDescriptor honest = say();
  const FileDescriptor early = say();  // Before the honest one is asked for.
  EXPECT_TRUE(anybody());
  EXPECT_FALSE(anybody());
  acceptor_->belong_to(group);
  const FileDescriptor late = say();
  EXPECT_FALSE(anybody());
  EXPECT_EQ(acceptor_->dropped(), 2U);
  acceptor_->belong_to(std::nullopt);  // It forms anew, as another group.
  const FileDescriptor later = say();
  acceptor_->belong_to(GroupNonce{7, 8});
  EXPECT_FALSE(anybody());
  const FileDescriptor last = say();
  EXPECT_FALSE(anybody());
  EXPECT_NE(acceptor_->last_dropped().find("a group that this rank is not in"), std::string::npos)
      << acceptor_->last_dropped();
}

// What joins is told when it, or what it has called, is of another group.
TEST_P(GroupAcceptorSecret, WhoHasAnotherIsToldSo) {
  const FileDescriptor socket = call();
  during([&] {
    const Status status = prove_and_say(socket.get(), draw_secret(), hello(), live_now() + 20s);
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_NE(status.message().find("both must have the same one"), std::string::npos) << status.message();
  });
}

INSTANTIATE_TEST_SUITE_P(Sockets, GroupAcceptorSecret, testing::Bool(),
                         [](const auto& chosen) { return chosen.param ? "local" : "tcp"; });

}  // namespace
}  // namespace thalweg
