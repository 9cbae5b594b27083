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
  of_later.set(CounterId{40}, 1);
  of_later.set(CounterId{40000}, 1);
  of_later.set(kCounterLast, 1);
  sum.count(of_later);
  EXPECT_EQ(sum.values().size(), 1u);
  EXPECT_EQ(sum[kCounterLast], 1u);
}

TEST(Counters, OfLeadsAreExactBelow64AndPowersOfTwoFromThere) {
  for (const std::uint32_t lead : {0u, 1u, 63u}) {
    EXPECT_EQ(leads_of(lead_counter(lead)), std::pair(lead, lead));
  }
  EXPECT_EQ(leads_of(lead_counter(64)), std::pair(64u, 127u));
  EXPECT_EQ(lead_counter(127), lead_counter(64));
  EXPECT_EQ(leads_of(lead_counter(128)), std::pair(128u, 255u));
  EXPECT_EQ(lead_counter(~0u), CounterId::kLeadLast);
  EXPECT_EQ(leads_of(CounterId::kLeadLast), std::pair(1u << 31, ~0u));
}

}  // namespace
}  // namespace thalweg
