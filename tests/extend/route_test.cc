#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/group/group_routes.h"
#include "client/group/group_threads_for_test.h"
#include "exchange/plan/cost.h"
#include "exchange/plan/planner.h"
#include "exchange/plan/simulate_exchange.h"
#include "exchange/route/route.h"
#include "topology/room_for_test.h"

namespace thalweg {

extern const Route kTeams;

namespace {

constexpr const Route* kOwn[] = {&kTeams};

constexpr std::uint32_t kRanks = 7;
constexpr std::size_t kCount = 10'007;

// Whole numbers, which sum up to the same bits in any order.
std::vector<float> contribution(std::uint32_t rank) {
  std::vector<float> made(kCount);
  for (std::size_t i = 0; i < kCount; ++i) made[i] = static_cast<float>((i * 31 + rank * 7) % 1000) - 500;
  return made;
}

TEST(ExtendRoute, AddsUpAmongLiveRanksByName) {
  std::vector<float> expected(kCount);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<float> each = contribution(rank);
    for (std::size_t i = 0; i < kCount; ++i) expected[i] += each[i];
  }
  for (const RouteChoice::Tuning tuning : {RouteChoice::Tuning{0, 1}, {4096, 1}, {1000, 3}}) {
    for (const char* name : {"teams", "teams:1", "teams:3", "teams:7", "ring"}) {
      const auto wrong = on_threads(kRanks, [&](Group& group) -> std::string {
        const auto route = choose_by_name(name, tuning, kOwn);
        if (!route.ok()) return route.status().message();
        std::vector<float> data = contribution(group.rank());
        const Status status = group.all_reduce(std::span(data), Reduction::kSum, *route);
        if (!status.ok()) return status.message();
        return data == expected ? "" : "a wrong sum";
      });
      EXPECT_EQ(wrong, "") << name;
    }
  }
}

TEST(ExtendRoute, TakesTheTimeOfItsFormulaAndIsForecast) {
  const Topology room = room_of("uniform:9,1GB/s,5us");
  const Demand demand{.bytes = 1'000'000, .ranks = 9, .pipelined = false};
  const auto layout = lay_out(room, demand, "teams:3", kOwn);
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  const auto simulated = simulate_exchange(room, demand, *layout, {.check = true});
  ASSERT_TRUE(simulated.ok()) << simulated.status().message();
  EXPECT_TRUE(simulated->checked);
  EXPECT_NEAR(simulated->seconds, 2 * (2 * 5e-6 + 4 * 1e-3), 1e-9);
  EXPECT_NEAR(predicted_seconds(room, demand, *layout), simulated->seconds, 1e-9);
  const auto forecasts = forecast_routes(room, demand, kOwn);
  ASSERT_TRUE(forecasts.ok()) << forecasts.status().message();
  const auto is_it = [](const Forecast& each) { return each.layout.route == "teams:3"; };
  EXPECT_EQ(std::count_if(forecasts->begin(), forecasts->end(), is_it), 1);
}

TEST(ExtendRoute, IsComparedBetweenRanks) {
  std::vector<Group> groups = Group::in_process(2, std::chrono::seconds(10));
  const auto wrong = on_ranks(
      2, [&groups](std::uint32_t rank) -> Result<Group> { return std::move(groups[rank]); },
      [](Group& group) -> std::string {
        std::vector<float> data(10);
        const auto route = choose_by_name(group.rank() == 0 ? "teams" : "chain", {0, 1}, kOwn);
        const Status status = group.all_reduce(std::span(data), Reduction::kSum, *route);
        EXPECT_EQ(status.code(), Code::kRefused);
        return status.message().find("rank 0 calls all-reduce") != std::string::npos &&
                       status.message().find("by a route of the application's own") != std::string::npos &&
                       status.message().find("by chain") != std::string::npos
                   ? ""
                   : status.message();
      });
  EXPECT_EQ(wrong, "");
}

TEST(ExtendRoute, IsCheckedAndNamedAsTheBuiltInOnesAre) {
  EXPECT_EQ(parse_route("teams:3", kOwn)->name(), "teams:3");
  EXPECT_EQ(parse_route("teams:3").status().code(), Code::kUsage);
  EXPECT_NE(parse_route("wheel", kOwn).status().message().find("teams:N"), std::string::npos);
  const auto none = parse_route("teams:0", kOwn);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(check_plan(*none, Operation::kAllReduce, 4).code(), Code::kUsage);
  EXPECT_EQ(check_plan(*parse_route("teams", kOwn), Operation::kReduce, 4).code(), Code::kUsage);
  Route ring = kTeams;
  ring.name = "ring";
  ring.id = route_id("ring");
  const Route* const taken[] = {&ring};
  EXPECT_NE(parse_route("ring", taken).status().message().find("has this name"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
