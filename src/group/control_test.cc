#include "group/control.h"

#include <gtest/gtest.h>

#include <chrono>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

const Status kReset(Code::kPeerLost, "rank 1: its connection was reset");

// Hands what `from` has to say to `to`, which is rank 0.
void deliver(Control& from, std::uint32_t rank, Control& to, const Activity& activity = {}) {
  for (const auto& out : from.take_outgoing()) {
    if (out.to == 0) to.on_message({}, rank, out.message.span(), activity);
  }
  to.on_time({});
}

TEST(Control, ALossIsExplainedByWhatThePeerSaysOrAfterThePatience) {
  Control leaver(1, 3, 1s), silent(0, 3, 1s), told(0, 3, 1s);
  silent.explain_loss({}, 1, kReset);
  EXPECT_FALSE(silent.verdict());
  EXPECT_EQ(silent.next_deadline(), Instant{} + 1s);
  silent.on_time(Instant{} + 1s);
  ASSERT_TRUE(silent.verdict());
  EXPECT_EQ(silent.verdict()->status, kReset);
  EXPECT_EQ(silent.next_deadline(), kNever);

  told.explain_loss({}, 1, kReset);
  leaver.give_up(2, Status(Code::kTimeout, "rank 2 does not answer"));
  deliver(leaver, 1, told);
  ASSERT_TRUE(told.verdict());
  EXPECT_EQ(told.verdict()->guilty, 2U);
}

TEST(Control, OneThatLeftExplainsItsLoss) {
  Control leaver(1, 3, 1s), control(0, 3, 1s);
  control.explain_loss({}, 1, kReset);
  leaver.leave();
  deliver(leaver, 1, control);
  ASSERT_TRUE(control.verdict());
  EXPECT_EQ(control.verdict()->guilty, 1U);
  EXPECT_TRUE(control.is_gone(1));
}

TEST(Control, WhatARankToldHoldsForAWhile) {
  Control control(0, 2, 1s);
  const auto answer_at = [&](Instant now, const Activity& activity) {
    Control asker(1, 2, 1s);
    asker.accuse({}, 0, "all-reduce #1");
    for (const auto& out : asker.take_outgoing()) control.on_message(now, 1, out.message.span(), activity);
    const auto answers = control.take_outgoing();
    EXPECT_EQ(answers.size(), 1U);
    return static_cast<Doing::Kind>(answers.at(0).message.span()[9]);
  };
  EXPECT_EQ(answer_at({}, {}), Doing::Kind::kOutside);
  EXPECT_EQ(answer_at({}, {.entered = 1}), Doing::Kind::kWorking);
  control.tell({}, 1, "all-reduce #1");
  EXPECT_EQ(answer_at(Instant{} + 400ms, {.entered = 1, .told = true}), Doing::Kind::kWaiting);
  EXPECT_EQ(answer_at(Instant{} + 600ms, {.entered = 1, .told = true}), Doing::Kind::kWorking);
  control.accuse({}, 1, "all-reduce #1");
  control.take_outgoing();
  EXPECT_EQ(answer_at(Instant{} + 600ms, {.entered = 1}), Doing::Kind::kWaiting);
}

TEST(Control, TheGuiltyAndTheGoneAreOut) {
  Control control(0, 4, 1s);
  EXPECT_FALSE(control.is_out(2));
  control.on_lost(2, "its process has ended");
  control.on_lost(3, "its process has ended");
  EXPECT_EQ(control.verdict()->guilty, 2U);
  EXPECT_TRUE(control.is_out(2));
  EXPECT_TRUE(control.is_out(3));
  EXPECT_FALSE(control.is_out(1));
}

TEST(Control, OneIsToldThatTheGroupFormedAnewWithoutIt) {
  Control other(1, 3, 1s), control(0, 3, 1s);
  other.leave_out(0);
  deliver(other, 1, control);
  EXPECT_TRUE(control.was_left_out());
  EXPECT_FALSE(control.verdict());
}

}  // namespace
}  // namespace thalweg
