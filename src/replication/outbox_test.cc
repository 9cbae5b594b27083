#include "replication/outbox.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace thalweg::replication {
namespace {

using namespace std::chrono_literals;

constexpr StreamId kOne{{Role::kServer, 1}, 0}, kOther{{Role::kServer, 2}, 0};

struct Sent {
  Outbox outbox;
  Instant now{};
  // "1#2": entry 2 to server 1.
  std::string send() {
    std::string sent;
    outbox.send_due(now, [&](NodeId to, const Frame& frame) {
      sent += fmt::format("{}{}#{}", sent.empty() ? "" : " ", to.index, number_of(frame.head));
    });
    return sent;
  }
};

TEST(Outbox, SendsInOrderAndAgainUntilItIsAcknowledged) {
  Sent job;
  for (int i = 0; i < 3; ++i) job.outbox.add(kOne, {});
  EXPECT_EQ(job.send(), "1#1 1#2 1#3");
  EXPECT_EQ(job.send(), "");
  job.outbox.on_acknowledged(job.now, kOne, 2);
  job.now = job.now + limits::kRetryFirst;
  EXPECT_EQ(job.send(), "1#2 1#3");
  job.now = job.now + limits::kRetryFirst;
  EXPECT_EQ(job.send(), "") << "the second time it waits for longer";
  job.outbox.on_acknowledged(job.now, kOne, 9);  // Nobody was told so many.
  EXPECT_EQ(job.outbox.committed(), 1u);
  job.outbox.on_acknowledged(job.now, kOne, 4);
  EXPECT_EQ(job.outbox.next_deadline(), kNever);
  EXPECT_EQ(job.outbox.bytes(), 0u);
}

TEST(Outbox, WhatAllHaveIsWhatEachStreamHas) {
  Sent job;
  const std::uint64_t first = job.outbox.add(kOne, {}), second = job.outbox.add(kOther, {});
  EXPECT_EQ(job.send(), "1#1 2#1");
  job.outbox.on_acknowledged(job.now, kOther, 2);
  EXPECT_EQ(job.outbox.committed(), 0u);
  EXPECT_TRUE(job.outbox.acknowledged(kOther, second));
  EXPECT_FALSE(job.outbox.acknowledged(kOne, first));
  job.outbox.on_acknowledged(job.now, kOne, 2);
  EXPECT_EQ(job.outbox.committed(), job.outbox.newest());
}

TEST(Outbox, WhatIsNotAwaitedHoldsNothingBack) {
  Sent job;
  job.outbox.add(kOther, {}, false);
  EXPECT_GE(job.outbox.committed(), job.outbox.newest());
  const std::uint64_t change = job.outbox.add(kOne, {});
  job.outbox.add(kOther, {}, false);
  EXPECT_EQ(job.outbox.newest(), change);
  EXPECT_LT(job.outbox.committed(), change);
  job.outbox.on_acknowledged(job.now, kOne, 2);
  EXPECT_GE(job.outbox.committed(), change);
  const std::uint64_t behind = job.outbox.add(kOther, {});
  job.outbox.on_acknowledged(job.now, kOther, 3);
  EXPECT_LT(job.outbox.committed(), behind);
  job.outbox.on_acknowledged(job.now, kOther, 4);
  EXPECT_GE(job.outbox.committed(), behind);
}

TEST(Outbox, GivesBackWhatALostServerHasNotAcknowledged) {
  Sent job;
  job.outbox.add(kOne, {});
  job.outbox.add(kOther, {});
  const auto dropped = job.outbox.drop([](const StreamId& stream) { return stream.server.index == 1; });
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].first, kOne);
  EXPECT_EQ(job.send(), "2#1");
}

TEST(Outbox, WhatIsRefusedIsSentAgainSoonAndEachTimeLater) {
  Sent job;
  for (int i = 0; i < 3; ++i) job.outbox.add(kOne, {});
  EXPECT_EQ(job.send(), "1#1 1#2 1#3");
  for (Duration wait = limits::kRefusalWaitFirst; wait <= 8 * limits::kRefusalWaitFirst; wait *= 2) {
    for (const std::uint64_t number : {1, 2, 3}) job.outbox.on_refused(job.now, kOne, number);
    EXPECT_EQ(job.outbox.next_deadline(), job.now + wait);
    EXPECT_EQ(job.send(), "");
    job.now = job.now + wait;
    EXPECT_EQ(job.send(), "1#1 1#2 1#3");
    EXPECT_EQ(job.outbox.next_deadline(), job.now + limits::kRetryFirst);
  }
  job.outbox.on_acknowledged(job.now, kOne, 2);
  job.outbox.on_refused(job.now, kOne, 1);  // Of a sending that was taken since.
  EXPECT_EQ(job.outbox.next_deadline(), job.now + limits::kRetryFirst);
  job.outbox.on_refused(job.now, kOne, 2);
  EXPECT_EQ(job.outbox.next_deadline(), job.now + limits::kRefusalWaitFirst) << "the first time again";
}

TEST(Outbox, KeepsNoMoreThanItsWindowOnTheWay) {
  Sent job;
  for (std::size_t i = 0; i <= limits::kEntriesInFlightMax; ++i) job.outbox.add(kOne, {});
  std::size_t sent = 0;
  const auto count = [&](NodeId, const Frame&) { ++sent; };
  job.outbox.send_due(job.now, count);
  EXPECT_EQ(sent, limits::kEntriesInFlightMax);
  job.outbox.on_acknowledged(job.now, kOne, 2);
  job.outbox.send_due(job.now, count);
  EXPECT_EQ(sent, limits::kEntriesInFlightMax + 1);
}

}  // namespace
}  // namespace thalweg::replication
