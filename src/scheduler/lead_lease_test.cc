#include "scheduler/lead_lease.h"

#include <gtest/gtest.h>

#include "scheduler/kept_state.h"
#include "scheduler/lead_store_for_test.h"

namespace thalweg {
namespace {

struct NoMutex {
  void lock() {}
  void unlock() {}
};
using SharedState = SharedStateOf<NoMutex>;
using StoreOfProcess = StoreOf<NoMutex>;

constexpr Duration kLength = std::chrono::seconds(3);

struct Leader {
  explicit Leader(SharedState& state) : store(state), lease(*LeadLease::take(store, "first", kLength)) {}
  void keep() { lease.keep(store, term); }
  StoreOfProcess store;
  LeadLease lease;
  std::optional<StateGuard> term;
};

TEST(LeadLease, IsInDoubtForAsLongAsNobodySaysThatItIsThere) {
  SharedState state;
  Leader leader(state);
  leader.keep();
  EXPECT_FALSE(leader.lease.in_doubt());
  state.away = true;
  leader.keep();
  EXPECT_TRUE(leader.lease.in_doubt());
  EXPECT_FALSE(leader.lease.lost()) << "there may be nobody else";
  state.away = false;
  leader.keep();
  EXPECT_FALSE(leader.lease.in_doubt());
}

TEST(LeadLease, IsTakenAnewWhereItHasEndedEarlyAndNobodyElseHasLed) {
  SharedState state;
  Leader leader(state);
  leader.term = take_lead(leader.store, 1)->lead;
  state.end_leases();
  EXPECT_EQ(state.leader(), "nobody");
  leader.keep();
  EXPECT_EQ(state.leader(), "first");
  EXPECT_FALSE(leader.lease.in_doubt());
  EXPECT_FALSE(leader.lease.lost());
}

// That one has the lease, and has yet to take the job up: it may die before.
TEST(LeadLease, IsInDoubtWhileAnotherOneIsAboutToTakeTheJobUp) {
  SharedState state;
  Leader leader(state);
  leader.term = take_lead(leader.store, 1)->lead;
  state.end_leases();
  StoreOfProcess other(state);
  auto second = LeadLease::take(other, "second", kLength);
  ASSERT_TRUE(second.ok());
  leader.keep();
  EXPECT_TRUE(leader.lease.in_doubt());
  EXPECT_FALSE(leader.lease.lost());
  EXPECT_EQ(state.leader(), "second");
  second->end(other);
  leader.keep();
  EXPECT_EQ(state.leader(), "first");
  EXPECT_FALSE(leader.lease.in_doubt());
}

TEST(LeadLease, IsLostForGoodOnceAnotherOneHasTakenTheJobUp) {
  SharedState state;
  Leader leader(state);
  leader.term = take_lead(leader.store, 1)->lead;
  state.end_leases();
  ASSERT_TRUE(take_lead(leader.store, 2).ok());
  leader.keep();
  EXPECT_TRUE(leader.lease.lost());
  leader.keep();
  EXPECT_EQ(state.leader(), "nobody");
}

}  // namespace
}  // namespace thalweg
