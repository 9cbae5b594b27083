#include "client/job/lead.h"

#include <gtest/gtest.h>

#include <mutex>

#include "scheduler/kept_state.h"
#include "scheduler/lead_store_for_test.h"

namespace thalweg {
namespace {

using SharedState = SharedStateOf<std::mutex>;
using StoreOfProcess = StoreOf<std::mutex>;

Result<std::unique_ptr<Lead>> lead_of(SharedState& state, const std::string& words) {
  std::unique_ptr<StateStore> store = std::make_unique<StoreOfProcess>(state);
  return Lead::take(store, words, std::chrono::milliseconds(30));
}

template <class Done>
bool comes(const Done& done) {
  for (int i = 0; i < 6000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return done();
}

TEST(Lead, IsOfOneAtATime) {
  SharedState state;
  auto first = lead_of(state, "first");
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(lead_of(state, "second").status(), Status(Code::kRetry, "first"));
  EXPECT_TRUE(comes([&] { return state.renewals() > 2; }));
  first->reset();
  EXPECT_EQ(state.leader(), "nobody");
  EXPECT_TRUE(lead_of(state, "second").ok());
}

TEST(Lead, IsTakenAgainWhereNobodyElseHasLed) {
  SharedState state;
  auto first = lead_of(state, "first");
  StoreOfProcess store(state);
  (*first)->set_term(take_lead(store, 1)->lead);
  state.end_leases();
  EXPECT_TRUE(comes([&] { return state.leader() == "first"; }));
  EXPECT_FALSE((*first)->lost());
}

TEST(Lead, IsInDoubtWhileItsStoreIsAway) {
  SharedState state;
  auto first = lead_of(state, "first");
  const auto set_away = [&](bool away) {
    const std::lock_guard lock(state.mutex);
    state.away = away;
  };
  set_away(true);
  EXPECT_TRUE(comes([&] { return (*first)->in_doubt(); }));
  EXPECT_FALSE((*first)->lost());
  set_away(false);
  EXPECT_TRUE(comes([&] { return !(*first)->in_doubt(); }));
}

TEST(Lead, IsLostOnceAnotherOneHasTakenTheJobUp) {
  SharedState state;
  auto first = lead_of(state, "first");
  StoreOfProcess store(state);
  (*first)->set_term(take_lead(store, 1)->lead);
  ASSERT_TRUE(take_lead(store, 2).ok());
  EXPECT_FALSE((*first)->lost());  // Its lease holds, and its writes have no effect.
  state.end_leases();
  EXPECT_TRUE(comes([&] { return (*first)->lost(); }));
  EXPECT_EQ(state.leader(), "nobody");
}

}  // namespace
}  // namespace thalweg
