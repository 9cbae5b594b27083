#include "base/counters.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(Counters, AddUpButForMaxima) {
  Counters first, second;
  first.count(CounterId::kRows, 3);
  first.count(CounterId::kRows, 4);
  first.count(CounterId::kStalenessMax, 5);
  second.count(CounterId::kRows, 1);
  second.count(CounterId::kStalenessMax, 2);
  second.count(CounterId::kPulls, 9);
  first.count(second);
  EXPECT_EQ(first[CounterId::kRows], 8u);
  EXPECT_EQ(first[CounterId::kStalenessMax], 5u);
  EXPECT_EQ(first[CounterId::kPulls], 9u);
  EXPECT_EQ(first[CounterId::kRepeats], 0u);
}

TEST(Counters, WhatIsNotKnownHereIsPassedOver) {
  Counters of_later, sum;
  of_later.set(CounterId{0}, 1);
  of_later.set(CounterId{40000}, 1);
  of_later.set(kCounterLast, 1);
  sum.count(of_later);
  EXPECT_EQ(sum.values().size(), 1u);
  EXPECT_EQ(sum[kCounterLast], 1u);
}

}  // namespace
}  // namespace thalweg
