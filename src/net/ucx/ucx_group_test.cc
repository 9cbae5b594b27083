#include "net/ucx/ucx_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

#include "net/group/group_for_test.h"
#include "net/ucx/ucx_for_test.h"

namespace thalweg {
namespace {

std::vector<GroupOptions> over_ucx(std::uint32_t size) {
  auto all = all_of(size);
  for (GroupOptions& options : all) options.transport = GroupTransport::kUcx;
  return all;
}

// By which of UCX's own transports.
class UcxGroupTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_ucx(); !why.empty()) GTEST_SKIP() << why;
    ::setenv("UCX_TLS", GetParam().c_str(), 1);
  }
};

TEST_P(UcxGroupTest, StreamsCarryEveryByteBetweenAllPairs) {
  for (const std::uint32_t ranks : {1U, 2U, 5U}) {
    with_groups(over_ucx(ranks), [ranks](std::uint32_t rank, Formed& formed) {
      ASSERT_TRUE(formed) << formed.status().message();
      for (const RankPlace& place : (*formed)->places()) EXPECT_EQ(place.machine, 0U);
      EXPECT_EQ((*formed)->places()[rank].memory, rank);
      exchange_bytes(**formed, rank, ranks, 1, 1);
      exchange_bytes(**formed, rank, ranks, 3, 70001);
      exchange_bytes(**formed, rank, ranks, 3, 64);
    });
  }
}

TEST_P(UcxGroupTest, BackPressureOnLargeStreams) {
  with_groups(over_ucx(2), [](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    exchange_bytes(**formed, rank, 2, 1, std::size_t{24} << 20);
  });
}

// More messages than UCX has room for go out although their sender does nothing more, and stop at the window.
TEST_P(UcxGroupTest, WhatWasWrittenArrivesWhileTheWriterIsBusy) {
  std::atomic<std::uint64_t> written = 0;
  std::atomic<bool> read = false;
  with_groups(over_ucx(2), [&](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    const Instant deadline = live_now() + 20s;
    if (rank == 0) {
      std::byte bytes[16];
      std::uint64_t sent = 0;
      for (std::size_t taken = 1; taken > 0; sent += taken) {
        for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = nth(0, 1, 0, sent + i);
        const Piece piece{bytes, sizeof bytes};
        taken = (*formed)->write({1, 0}, {&piece, 1});
      }
      written = sent;
      while (!read && live_now() < deadline) std::this_thread::sleep_for(1ms);
      return;
    }
    while (written == 0) std::this_thread::sleep_for(1ms);
    std::uint64_t got = 0;
    while (got < written && live_now() < deadline) {
      std::byte bytes[4096];
      const std::size_t part = (*formed)->read({0, 0}, bytes, sizeof bytes);
      for (std::size_t i = 0; i < part; ++i) ASSERT_EQ(bytes[i], nth(0, 1, 0, got + i));
      got += part;
      if (part == 0) (*formed)->wait(deadline);
    }
    read = true;
    EXPECT_EQ(got, std::uint64_t{256} << 10);
  });
}

TEST_P(UcxGroupTest, ARankThatLeavesIsNamedAfterAllThatItSent) {
  std::atomic<bool> gone = false;
  with_groups(over_ucx(3), [&gone](std::uint32_t rank, Formed& formed) {
    ASSERT_TRUE(formed) << formed.status().message();
    const std::vector<std::byte> last(100'000, std::byte{42});
    if (rank == 1) {
      const Piece piece{last.data(), last.size()};
      ASSERT_EQ((*formed)->write({0, 0}, {&piece, 1}), last.size());
      *formed = nullptr;
      gone = true;
      return;
    }
    const Instant deadline = live_now() + 20s;
    while (!gone || !(*formed)->any_lost()) {
      ASSERT_LT(live_now(), deadline);
      (*formed)->wait(live_now() + 1ms);
      ASSERT_EQ((*formed)->peek({1, 1}, 1).size, 0U);
    }
    const Status status = (*formed)->peer_status(1);
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_NE(status.message().find("rank 1 (process "), std::string::npos) << status.message();
    EXPECT_TRUE((*formed)->peer_status(2 - rank).ok());
    std::vector<std::byte> got(last.size());
    EXPECT_EQ((*formed)->read({1, 0}, got.data(), got.size()), rank == 0 ? last.size() : 0U);
    EXPECT_TRUE(rank == 2 || got == last);
  });
}

// While more messages are on their way to it than UCX has room for.
TEST_P(UcxGroupTest, AKilledPeerIsNamed) {
#if defined(__SANITIZE_ADDRESS__)
  if (GetParam() == "shm") GTEST_SKIP() << "fails on some machines with AddressSanitizer";
#endif
  const auto all = over_ucx(2);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(100);  // Whatever becomes of who would kill it.
    const Formed formed = form_group(all[1]);
    if (formed) ::pause();
    ::_exit(1);
  }
  const Formed formed = form_group(all[0]);
  ASSERT_TRUE(formed) << formed.status().message();
  const std::byte bytes[16]{};
  const Piece piece{bytes, sizeof bytes};
  for (int i = 0; i < 1000; ++i) EXPECT_EQ((*formed)->write({1, 0}, {&piece, 1}), sizeof bytes);
  ::kill(child, SIGKILL);
  const Instant deadline = live_now() + 60s;
  while (!(*formed)->any_lost() && live_now() < deadline) (*formed)->wait(deadline);
  EXPECT_EQ((*formed)->peer_status(1).code(), Code::kPeerLost);
  const std::string message = (*formed)->peer_status(1).message();
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  ::waitpid(child, nullptr, 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, UcxGroupTest, testing::Values(std::string("shm"), std::string("tcp")),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(UcxGroup, RanksWithoutUcxAreRefused) {
  if (const std::string why = why_no_ucx(); !why.empty()) GTEST_SKIP() << why;
  auto all = over_ucx(2);
  all[1].transport = GroupTransport::kTcp;
  all[0].timeout = 3s;  // In which the other comes.
  with_groups(all, [](std::uint32_t rank, Formed& formed) {
    ASSERT_FALSE(formed);
    const std::string& message = formed.status().message();
    EXPECT_NE(message.find("it was started without UCX, rank 0 over it"), std::string::npos) << message;
    EXPECT_EQ(formed.status().code(), rank == 0 ? Code::kTimeout : Code::kRefused);
  });
}

}  // namespace
}  // namespace thalweg
