#include "group/rendezvous.h"

#include <gtest/gtest.h>

#include <chrono>

namespace thalweg {
namespace {

using namespace std::chrono_literals;
using Next = Rendezvous::Next;

constexpr Instant kDeadline = Instant{} + 10s;

Applicant rank_of(std::uint32_t rank, std::uint32_t size = 4) {
  return {rank, rank, size, "default", false, {}, "rank " + std::to_string(rank)};
}

TEST(Rendezvous, TheFirstIsWholeOrNone) {
  Rendezvous leader = Rendezvous::first(rank_of(0), kDeadline);
  EXPECT_TRUE(leader.admit(7, rank_of(3)).ok());
  EXPECT_TRUE(leader.admit(8, rank_of(1)).ok());
  EXPECT_EQ(leader.next(Instant{}), Next::kWait);
  EXPECT_EQ(leader.due(), kDeadline);
  EXPECT_EQ(leader.next(kDeadline), Next::kFail);
  EXPECT_EQ(leader.failure(),
            Status(Code::kTimeout, "group 'default' of 4 ranks did not form in time: rank 2 did not come"));
  EXPECT_TRUE(leader.admit(9, rank_of(2)).ok());
  EXPECT_EQ(leader.next(kDeadline), Next::kForm);
  EXPECT_EQ(leader.guests(), (std::vector<Rendezvous::Guest>{8, 9, 7}));
  EXPECT_EQ(leader.place(), 0U);
}

TEST(Rendezvous, AnewItGoesOnWithoutThoseWhoAreOutOrLate) {
  Rendezvous leader = Rendezvous::anew(rank_of(1), kDeadline);
  EXPECT_EQ(leader.next(Instant{}), Next::kCall);  // Rank 0.
  leader.set_out(0);
  EXPECT_TRUE(leader.in_vain());
  EXPECT_EQ(leader.next(Instant{}), Next::kWait);
  ASSERT_TRUE(leader.leads());
  EXPECT_EQ(leader.missing(), (std::vector<std::uint32_t>{2, 3}));
  leader.set_out(3);
  EXPECT_EQ(leader.admit(5, rank_of(3)), Status(Code::kRefused, "rank 3 has been given up"));
  EXPECT_EQ(leader.admit(5, rank_of(0)), Status(Code::kRefused, "rank 0 has been given up"));
  EXPECT_EQ(leader.next(Instant{}), Next::kWait);
  EXPECT_EQ(leader.next(kDeadline), Next::kForm);
  EXPECT_TRUE(leader.guests().empty());
  EXPECT_TRUE(leader.admit(5, rank_of(2)).ok());
  EXPECT_EQ(leader.next(Instant{}), Next::kForm);
}

TEST(Rendezvous, OneThatHungUpMayComeAgain) {
  Rendezvous leader = Rendezvous::first(rank_of(0, 2), kDeadline);
  EXPECT_TRUE(leader.admit(1, rank_of(1, 2)).ok());
  EXPECT_EQ(leader.admit(2, rank_of(1, 2)).code(), Code::kRefused);
  leader.hung_up(1);
  EXPECT_TRUE(leader.admit(2, rank_of(1, 2)).ok());
  EXPECT_EQ(leader.next(Instant{}), Next::kForm);
}

TEST(Rendezvous, CallsAgainAtGrowingPausesUntilTheDeadline) {
  Rendezvous caller = Rendezvous::first(rank_of(2), kDeadline);
  Instant now{};
  int calls = 0;
  while (caller.next(now) != Next::kFail) {
    ASSERT_EQ(caller.next(now), Next::kCall);
    ++calls;
    caller.call_failed(now, "rank 0 at x:1", Status(Code::kRetry, "nobody is there"));
    ASSERT_GT(caller.due(), now);
    ASSERT_LE(caller.due(), now + 250ms);
    EXPECT_NE(caller.next(now), Next::kCall);
    now = caller.due();
  }
  EXPECT_GT(calls, 40);
  EXPECT_EQ(
      caller.failure(),
      Status(Code::kTimeout,
             "rank 2 cannot join group 'default': rank 0 at x:1 could not be reached in time: nobody is "
             "there"));
}

TEST(Rendezvous, TheLeadersReasonIsFinalUnlessItIsOut) {
  Rendezvous caller = Rendezvous::anew(rank_of(2), kDeadline);
  caller.call_failed(Instant{}, "rank 0 at x:1", Status(Code::kRefused, "you are late"));
  EXPECT_EQ(caller.next(Instant{}), Next::kFail);
  EXPECT_EQ(
      caller.failure(),
      Status(Code::kRefused, "rank 2 cannot join group 'default': rank 0 at x:1 answers: you are late"));
  caller.set_out(0);
  EXPECT_EQ(caller.next(Instant{}), Next::kCall);
  EXPECT_EQ(caller.leader(), 1U);
}

TEST(Rendezvous, OneThatWasLeftOutIsToldSo) {
  Rendezvous late = Rendezvous::anew(rank_of(2), kDeadline);
  late.set_out(0);
  late.set_out(1);
  late.set_left_out();
  EXPECT_TRUE(late.in_vain());
  EXPECT_EQ(late.next(Instant{}), Next::kFail);
  EXPECT_EQ(late.failure(),
            Status(Code::kRefused, "the group has been formed anew without rank 2, which came late"));
}

TEST(Rendezvous, ThoseWhoDoNotBelongAreRefused) {
  Rendezvous leader = Rendezvous::first(rank_of(0), kDeadline);
  const auto why = [&leader](const auto& change) {
    Applicant applicant = rank_of(1);
    change(applicant);
    const Status status = leader.admit(1, applicant);
    EXPECT_EQ(status.code(), Code::kRefused);
    return status.message();
  };
  EXPECT_EQ(why([](Applicant& a) { a.group = "other"; }),
            "it wants to join group 'other', this is group 'default'");
  EXPECT_EQ(why([](Applicant& a) { a.nonce = {1, 2}; }), "the group has been formed anew since");
  EXPECT_EQ(why([](Applicant& a) { a.size = 5; }),
            "it was started for a group of 5 ranks, rank 0 for one of 4");
  EXPECT_EQ(why([](Applicant& a) { a.over_ucx = true; }), "it was started over UCX, rank 0 without it");
  EXPECT_EQ(why([](Applicant& a) { a.rank = a.from = 4; }), "rank 4 is not one of 4");
  EXPECT_EQ(why([](Applicant& a) { a.from = 2; }), "rank 1 is not one of 4");
  EXPECT_EQ(why([](Applicant& a) { a.rank = a.from = 0; }), "there already is rank 0");
}

TEST(Rendezvous, LongListsOfRanksAreCut) {
  EXPECT_EQ(list_of_ranks({3}), "rank 3");
  EXPECT_EQ(list_of_ranks({3, 5}), "ranks 3, 5");
  const std::vector<std::uint32_t> many(20, 1);
  EXPECT_EQ(list_of_ranks(many), "ranks 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 and 4 more");
}

}  // namespace
}  // namespace thalweg
