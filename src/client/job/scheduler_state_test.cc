#include "client/job/scheduler_state.h"

#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"

namespace thalweg {
namespace {

TEST(SchedulerState, AJobThatIsForgottenLeavesNothingToTheNext) {
  TemporaryFolder folder;
  const StatePlace place{
      folder / "state", {}, "a test", false, [](Duration, const std::string&) { return true; }};
  constexpr std::uint32_t kReports = 1200;
  {
    auto state = open_scheduler_state(place);
    ASSERT_TRUE(state.ok()) << state.status().message();
    std::vector<StateChange> changes = {{kJobKey, "of one job"}};
    for (std::uint32_t i = 1; i <= kReports; ++i)
      changes.push_back({report_key(ShardId{i % 4}, {0, i}), "told"});
    ASSERT_TRUE((*state)->store->swap(std::span(&(*state)->kept.lead, 1), changes).ok());
  }
  {
    auto state = open_scheduler_state(place);
    ASSERT_TRUE(state.ok()) << state.status().message();
    ASSERT_EQ((*state)->kept.reports.size(), kReports);
    ASSERT_TRUE(forget_job(*(*state)->store, (*state)->kept).ok());
    EXPECT_EQ((*state)->kept.image, "");
    EXPECT_TRUE((*state)->kept.reports.empty());
  }
  auto state = open_scheduler_state(place);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ((*state)->kept.image, "");
  EXPECT_TRUE((*state)->kept.reports.empty());
  EXPECT_EQ((*state)->kept.before, 2u) << "those who led it are not forgotten";
}

TEST(SchedulerState, WhoLeadsNoMoreForgetsNothing) {
  TemporaryFolder folder;
  const StatePlace place{
      folder / "state", {}, "a test", false, [](Duration, const std::string&) { return true; }};
  auto state = open_scheduler_state(place);
  ASSERT_TRUE(state.ok()) << state.status().message();
  StateStore& store = *(*state)->store;
  KeptState& kept = (*state)->kept;
  const StateChange job{kJobKey, "of one job"}, next{kTermKey, "7"};
  ASSERT_TRUE(store.swap({}, std::span(&job, 1)).ok());
  ASSERT_TRUE(store.swap({}, std::span(&next, 1)).ok());
  kept.image = "of one job";
  EXPECT_EQ(forget_job(store, kept).code(), Code::kStale);
  EXPECT_EQ(store.get(kJobKey)->entries.size(), 1u);
  EXPECT_EQ(kept.image, "of one job");
}

}  // namespace
}  // namespace thalweg
