#include "client/group/group_routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/temporary_folder_for_test.h"
#include "client/group/group_threads_for_test.h"
#include "exchange/costs/costs_file.h"
#include "exchange/exchange_case_for_test.h"
#include "exchange/route/lanes.h"
#include "exchange/route/route.h"
#include "net/socket/reserved_port_for_test.h"

namespace thalweg {
namespace {

// Ranks numbered machine by machine, which share memory or have TCP alone.
std::vector<RankPlace> machines(std::uint32_t count, std::uint32_t ranks, std::uint32_t cores, bool share) {
  std::vector<RankPlace> places;
  for (std::uint32_t rank = 0; rank < count * ranks; ++rank) {
    const std::uint32_t first = rank / ranks * ranks;
    places.push_back({first, share ? first : rank, cores});
  }
  return places;
}

// "recursive-doubling; ring from 256 KiB": the routes from 64 bytes to 64 MiB.
std::string routes_by_size(GroupRoutes& routes, Operation operation) {
  std::string text, last;
  for (std::size_t bytes = 64; bytes <= std::size_t{64} << 20; bytes *= 2) {
    const Plan& plan = routes.choose(operation, bytes, 4);
    std::string name = plan.name();
    if (plan.channels > 1) name += fmt::format(" in {} slices", plan.channels);
    if (name != last) text += text.empty() ? name : fmt::format("; {} from {} KiB", name, bytes >> 10);
    last = name;
  }
  return text;
}

std::string all_reduces(const std::vector<RankPlace>& places) {
  GroupRoutes routes(places);
  return routes_by_size(routes, Operation::kAllReduce);
}

// Else the channels of operations that were started side by side would overlap.
TEST(GroupRoutes, TakeAChannelForEachLane) {
  for (const std::uint32_t ranks : {2U, 5U, 12U}) {
    const std::vector<SharedPlace> places(std::size_t{2} * ranks);
    for (const std::string& name : routes_for_test()) {
      const Plan plan = plan_for_test(name, ranks);
      Work work;
      work.whole = {0, 1000};
      if (!check_plan(plan, work.operation, ranks).ok()) continue;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::pmr::vector<Lane> lanes;
        make_lanes(work, plan, rank, ranks, places, lanes);
        EXPECT_LE(lanes.size(), channels_of(plan)) << name;
      }
    }
  }
}

TEST(GroupRoutes, FollowTransportRanksAndSize) {
  EXPECT_EQ(all_reduces(machines(1, 2, 2, false)), "recursive-doubling; ring from 256 KiB");
  EXPECT_EQ(all_reduces(machines(1, 4, 2, false)),
            "recursive-doubling; halving-doubling from 64 KiB; ring from 2048 KiB");
  EXPECT_EQ(all_reduces(machines(1, 2, 2, true)),
            "recursive-doubling; spread from 32 KiB; shared from 64 KiB");
  EXPECT_EQ(all_reduces(machines(1, 4, 2, true)),
            "recursive-doubling; halving-doubling from 16 KiB; shared from 64 KiB");
  EXPECT_EQ(all_reduces(machines(4, 1, 2, true)),
            "recursive-doubling; spread from 16 KiB; ring from 2048 KiB");
  EXPECT_EQ(all_reduces(machines(1, 1, 2, true)), "spread; shared from 64 KiB");
}

TEST(GroupRoutes, HaveTimeToOverlapWhereTheyWaitOrHaveCoresToSpare) {
  EXPECT_FALSE(GroupRoutes(machines(1, 2, 2, true)).have_time_to_overlap());
  EXPECT_FALSE(GroupRoutes(machines(1, 4, 7, true)).have_time_to_overlap());
  EXPECT_TRUE(GroupRoutes(machines(1, 4, 8, true)).have_time_to_overlap());
  EXPECT_TRUE(GroupRoutes(machines(2, 2, 2, true)).have_time_to_overlap());
}

TEST(GroupRoutes, StayInsideMachinesWhereAGroupSpansSome) {
  EXPECT_EQ(
      all_reduces(machines(2, 4, 4, true)),
      "recursive-doubling; hierarchical:2tx4d from 2 KiB; hierarchical:2x2tx2d from 4 KiB; "
      "hierarchical:4hx2d from 16 KiB; hierarchical:4hx2d in 4 slices from 2048 KiB; hierarchical:4hx2 in "
      "4 slices from 16384 KiB");
  EXPECT_EQ(all_reduces(machines(2, 4, 4, false)),
            "recursive-doubling; hierarchical:2tx4d from 2 KiB; hierarchical:4tx2d from 4 KiB; "
            "hierarchical:2x2tx2d from 16 KiB; hierarchical:4hx2d from 128 KiB; hierarchical:2x2x2d from 512 "
            "KiB; hierarchical:4hx2d from 1024 KiB; hierarchical:4hx2d in 4 slices from 2048 KiB; "
            "hierarchical:4hx2 in 4 slices from 16384 KiB");
  // Unequal machines, and ranks dealt to machines by turns.
  std::vector<RankPlace> unequal = machines(2, 4, 4, true), dealt = unequal;
  unequal.pop_back();
  for (std::uint32_t rank = 0; rank < 8; ++rank) dealt[rank] = {rank % 2, rank % 2, 4};
  EXPECT_NE(all_reduces(unequal).find("hierarchical:4+3x2"), std::string::npos) << all_reduces(unequal);
  EXPECT_EQ(all_reduces(dealt).find("hierarchical"), std::string::npos) << all_reduces(dealt);
}

TEST(GroupRoutes, FollowWhatTheMachineTakes) {
  std::vector<RankPlace> places = machines(1, 4, 4, false);
  const std::string usual = all_reduces(places);
  for (RankPlace& place : places) place.costs.loopback.latency_seconds = 100e-6;
  EXPECT_EQ(all_reduces(places), "recursive-doubling; spread from 128 KiB; ring from 4096 KiB");
  EXPECT_NE(usual, all_reduces(places));
}

TEST(GroupRoutes, AskAPlannerOnceForEachSizeWhereThereIsOne) {
  std::vector<std::uint64_t> asked;
  GroupRoutes routes(machines(4, 1, 2, true), [&](Operation operation, std::uint64_t bytes) {
    EXPECT_EQ(operation, Operation::kAllReduce);
    asked.push_back(bytes);
    Plan plan;
    plan.route = bytes < 4096 ? &routes::kChain : &routes::kDoubleTree;
    plan.channels = 2;
    plan.piece_elements = bytes < 4096 ? 0 : 512;
    return plan;
  });
  for (const std::size_t bytes : {1000u, 700u, 5000u, 8191u}) {
    const Plan& plan = routes.choose(Operation::kAllReduce, bytes, 8);
    EXPECT_EQ(plan.route, bytes < 4096 ? &routes::kChain : &routes::kDoubleTree);
    EXPECT_EQ(plan.channels, 2u);
    EXPECT_EQ(plan.piece_elements, bytes < 4096 ? 0u : 256u) << "of eight bytes";
  }
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{512, 4096}));
  EXPECT_EQ(routes.choose(Operation::kBarrier, 4, 4).route, &routes::kRecursiveDoubling);
}

// The least time by formula of all routes that groups may take, whole and in pieces.
TEST(GroupRoutes, TakeWhatThePlannerSaysIsFastest) {
  for (const bool share : {true, false}) {
    for (const std::uint32_t count : {1u, 2u}) {
      const std::vector<RankPlace> places = machines(count, 4, 2, share);
      const GroupCostModel model = group_cost_model(places);
      GroupRoutes routes(places);
      for (const Operation operation : {Operation::kAllReduce, Operation::kReduceScatter,
                                        Operation::kAllGather, Operation::kReduce, Operation::kBroadcast}) {
        const bool rooted = operation == Operation::kReduce || operation == Operation::kBroadcast;
        for (std::size_t bytes = 64; bytes <= std::size_t{16} << 20; bytes *= 4) {
          const Demand demand{.operation = operation, .bytes = bytes, .ranks = 4 * count};
          const Plan& chosen = routes.choose(operation, bytes, Demand::kElementBytes);
          if (chosen.route == &routes::kShared) continue;
          const auto seconds_of = [&](const Plan& plan) {
            Layout layout = *lay_out(model.topology, demand, plan.name());
            layout.plan = plan;
            return predicted_seconds(model.topology, demand, layout, model.handling);
          };
          const double seconds = seconds_of(chosen);
          for (const std::string& name : candidate_routes(model.topology, demand)) {
            Plan other = lay_out(model.topology, demand, name)->plan;
            const bool levels = other.route == &routes::kHierarchical;
            if (levels ? count == 1 : !rooted && other.route->makes_lists) continue;
            for (const std::size_t piece : {std::size_t{0}, model.piece_bytes}) {
              if (piece == 0 && !rooted && bytes > model.piece_bytes) continue;
              other.piece_elements = piece < bytes ? piece / Demand::kElementBytes : 0;
              if (piece == 0) other.channels = 1;
              EXPECT_LE(seconds, seconds_of(other) * (1 + 1e-9))
                  << operation_name(operation) << " " << bytes << ": " << chosen.name() << ", faster "
                  << name;
            }
          }
        }
      }
    }
  }
}

TEST(GroupRoutes, PlanEachSizeOnce) {
  GroupRoutes routes(machines(1, 4, 2, false));
  for (int again = 0; again < 3; ++again) {
    for (const std::size_t bytes : {600u, 1000u, 4000u})
      routes.choose(Operation::kAllReduce, bytes, 4);  // The first two are of one power of two.
    routes.choose(Operation::kBroadcast, 1000, 4);
    routes.choose(Operation::kBarrier, 0, 4);
  }
  EXPECT_EQ(routes.plans_made(), 3u);
}

// Whatever the sizes of machines, trees in them would take memory each time.
TEST(GroupRoutes, LeaveWhatTakesMemoryToOperationsThatNeedIt) {
  for (const std::uint32_t ranks : {2u, 3u, 8u}) {
    for (const bool share : {true, false}) {
      GroupRoutes routes(machines(1, ranks, 1, share));
      for (const Operation operation :
           {Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather}) {
        for (std::size_t bytes = 4; bytes <= std::size_t{1} << 26; bytes *= 2)
          EXPECT_FALSE(routes.choose(operation, bytes, 4).route->makes_lists) << bytes;
      }
    }
  }
}

TEST(GroupRoutes, AreThereForEveryOperationAndAnySize) {
  for (const std::uint32_t ranks : {1u, 3u, 40u}) {
    GroupRoutes routes(machines(1, ranks, 2, false));
    for (std::size_t i = 0; i < kOperations; ++i) {
      const auto operation = static_cast<Operation>(i);
      for (const std::size_t bytes :
           {std::size_t{0}, std::size_t{1}, std::size_t{3} << 20, ~std::size_t{0}}) {
        const Plan& plan = routes.choose(operation, bytes, 8);
        EXPECT_TRUE(check_plan(plan, operation, ranks).ok()) << plan.name();
        EXPECT_EQ(&plan, &routes.choose(operation, bytes, 8));
      }
    }
  }
}

TEST(GroupRoutes, PiecesAreOfBytesWhateverTheElements) {
  GroupRoutes routes(machines(1, 2, 2, false));
  const std::size_t bytes = std::size_t{4} << 20;
  EXPECT_EQ(routes.choose(Operation::kAllReduce, bytes, 4).piece_elements, kLoopbackPieceBytes / 4);
  EXPECT_EQ(routes.choose(Operation::kAllReduce, bytes, 8).piece_elements, kLoopbackPieceBytes / 8);
}

// Of four ranks of one machine: broadcasts go by chains up to 8 KiB, and by stars above.
MeasuredRoutes some_measured(bool shares_memory) {
  MeasuredRoutes routes;
  const auto add = [&](std::uint64_t bytes, const char* name, std::size_t piece) {
    const MeasuredPoint point{shares_memory, 4, Operation::kBroadcast, bytes};
    routes.add(point, {*measured_plan(name, point), piece});
  };
  add(4096, "chain", 0);
  add(16384, "star", 2048);
  return routes;
}

std::vector<RankPlace> knowing(const MeasuredRoutes& measured, std::vector<RankPlace> places) {
  for (RankPlace& place : places) place.measured_routes = measured.digest();
  return places;
}

TEST(GroupRoutes, GoByWhatWasMeasuredOfSuchAGroup) {
  for (const bool share : {true, false}) {
    const MeasuredRoutes measured = some_measured(share);
    GroupRoutes routes(knowing(measured, machines(1, 4, 2, share)), nullptr, measured);
    EXPECT_TRUE(routes.go_by_measured());
    for (const std::size_t bytes : {0u, 1u, 4096u, 8192u}) {
      EXPECT_EQ(routes.choose(Operation::kBroadcast, bytes, 4).route, &routes::kChain) << bytes;
      EXPECT_EQ(routes.choose(Operation::kBroadcast, bytes, 4).piece_elements, 0u);
    }
    for (const std::size_t bytes : {std::size_t{8193}, std::size_t{16384}, std::size_t{1} << 30}) {
      EXPECT_EQ(routes.choose(Operation::kBroadcast, bytes, 8).route, &routes::kStar) << bytes;
      EXPECT_EQ(routes.choose(Operation::kBroadcast, bytes, 8).piece_elements, 256u) << "of eight bytes";
    }
    EXPECT_EQ(routes.plans_made(), 0u);
    // What was not measured, and what needs the order of ranks, goes as ever.
    GroupRoutes usual(machines(1, 4, 2, share));
    EXPECT_EQ(routes_by_size(routes, Operation::kAllReduce), routes_by_size(usual, Operation::kAllReduce));
    EXPECT_EQ(routes.choose(Operation::kBroadcast, 100, 4, true).route,
              usual.choose(Operation::kBroadcast, 100, 4, true).route);
  }
}

TEST(GroupRoutes, GoByFormulaWhereSuchAGroupWasNotMeasuredOrNotAllKnowOfIt) {
  const MeasuredRoutes measured = some_measured(true);
  const auto go_by_measured = [&measured](const std::vector<RankPlace>& places) {
    return GroupRoutes(places, nullptr, measured).go_by_measured();
  };
  EXPECT_TRUE(go_by_measured(knowing(measured, machines(1, 4, 2, true))));
  EXPECT_FALSE(go_by_measured(knowing(measured, machines(1, 3, 2, true)))) << "three ranks";
  EXPECT_FALSE(go_by_measured(knowing(measured, machines(2, 2, 2, true)))) << "two machines";
  EXPECT_FALSE(go_by_measured(knowing(measured, machines(1, 4, 2, false)))) << "by TCP";
  EXPECT_FALSE(go_by_measured(machines(1, 4, 2, true))) << "nobody says so";
  std::vector<RankPlace> mixed = knowing(measured, machines(1, 4, 2, true)), odd = mixed;
  mixed[3].memory = 3;
  EXPECT_FALSE(go_by_measured(mixed)) << "one by TCP";
  ++odd[2].measured_routes;
  EXPECT_FALSE(go_by_measured(odd)) << "another file";
  const auto planner = [](Operation, std::uint64_t) { return Plan(); };
  EXPECT_FALSE(GroupRoutes(knowing(measured, machines(1, 4, 2, true)), planner, measured).go_by_measured());
}

// Bytes that rank 0 sends for a broadcast of 100 kB, by the route that is asked for or chosen.
Result<std::uint64_t> bytes_of_broadcast(Group& group, const RouteChoice& route) {
  std::vector<float> data(25'000, group.rank() == 0 ? 5.0F : 0.0F);
  const std::uint64_t before = group.bytes_sent();
  if (Status s = group.broadcast(std::span(data), 0, route); !s.ok()) return s;
  if (data != std::vector<float>(25'000, 5.0F)) return Status(Code::kIo, "wrong data");
  std::uint64_t sent = group.bytes_sent() - before;
  if (Status s = group.broadcast(std::span(&sent, 1), 0); !s.ok()) return s;
  return sent;
}

// Four ranks with these files; whether what they choose sends what a star does.
std::string broadcasts_as(GroupTransport transport, const std::vector<std::string>& files, bool as_star) {
  GroupOptions options;
  options.size = 4;
  options.transport = transport;
  options.master_port = port_for_this_test();
  const auto join = [&](std::uint32_t rank) {
    GroupOptions mine = options;
    mine.rank = rank;
    mine.costs_file = files[rank];
    return Group::join(mine);
  };
  return on_ranks(4, join, [as_star](Group& group) -> std::string {
    const auto star = bytes_of_broadcast(group, *RouteChoice::named("star", {2048, 1}));
    const auto chosen = bytes_of_broadcast(group, {});
    if (!star || !chosen) return (star ? chosen : star).status().message();
    const bool alike = *star == *chosen;
    return alike == as_star ? "" : fmt::format("star sends {} bytes, the choice {}", *star, *chosen);
  });
}

TEST(GroupRoutes, LiveRanksTakeWhatWasMeasuredWhereAllHaveTheSameFile) {
  const TemporaryFolder folder;
  MachineFigures figures;
  figures.routes = some_measured(true);
  const MeasuredRoutes by_tcp = some_measured(false);
  for (const auto& [point, way] : by_tcp.all()) figures.routes.add(point, way);
  const std::string measured = folder.write("measured.toml", to_toml(figures));
  figures.routes.add({true, 5, Operation::kReduce, 4096}, figures.routes.all().begin()->second);
  const std::string other = folder.write("other.toml", to_toml(figures));
  for (const GroupTransport transport : {GroupTransport::kShm, GroupTransport::kTcp}) {
    const auto all = [](const std::string& file) { return std::vector<std::string>(4, file); };
    EXPECT_EQ(broadcasts_as(transport, all(measured), true), "");
    EXPECT_EQ(broadcasts_as(transport, all(other), true), "");
    EXPECT_EQ(broadcasts_as(transport, all(""), false), "");
    EXPECT_EQ(broadcasts_as(transport, {measured, measured, other, measured}, false), "");
    EXPECT_EQ(broadcasts_as(transport, {measured, measured, measured, ""}, false), "");
  }
}

// Ranks whose plans differ refuse each other, so agreement shows in that every operation succeeds.
TEST(GroupRoutes, AreTheSameAtAllRanks) {
  GroupOptions options;
  options.size = 4;
  options.master_port = port_for_this_test();
  const auto join = [&options](std::uint32_t rank) {
    GroupOptions mine = options;
    mine.rank = rank;
    mine.transport = rank == 3 ? GroupTransport::kTcp : GroupTransport::kAuto;
    return Group::join(mine);
  };
  const auto body = [](Group& group) -> std::string {
    for (std::size_t count = 4; count <= std::size_t{1} << 20; count *= 4) {
      std::vector<float> data(count, 1), part(group.own_part(count).count);
      if (Status s = group.all_reduce(std::span(data)); !s.ok()) return s.message();
      if (std::any_of(data.begin(), data.end(), [](float sum) { return sum != 4; })) return "wrong sum";
      if (Status s = group.reduce_scatter<float>(data, part); !s.ok()) return s.message();
      if (Status s = group.all_gather<float>(part, data); !s.ok()) return s.message();
      if (Status s = group.reduce<float>(data, data, 3); !s.ok()) return s.message();
      if (Status s = group.broadcast(std::span(data), 3); !s.ok()) return s.message();
      if (std::any_of(data.begin(), data.end(), [](float sum) { return sum != 64; }))
        return "wrong sum of sums";
    }
    return "";
  };
  EXPECT_EQ(on_ranks(4, join, body), "");
}

std::string all_reduce_by(const std::string& name, std::uint32_t ranks) {
  return on_threads(ranks, [&name, ranks](Group& group) -> std::string {
    const Result<RouteChoice> route = RouteChoice::named(name, {256, 1});
    if (!route) return route.status().message();
    for (int again = 0; again < 2; ++again) {
      std::vector<double> data(1003, group.rank() + 1);
      if (Status s = group.all_reduce(std::span(data), {}, *route); !s.ok()) return s.message();
      if (data != std::vector<double>(1003, ranks * (ranks + 1.0) / 2)) return "wrong sum";
      if (Status s = group.all_reduce_async(std::span(data), {}, *route).wait(); !s.ok()) return s.message();
      if (data != std::vector<double>(1003, ranks * ranks * (ranks + 1.0) / 2)) return "wrong sum of sums";
    }
    return "";
  });
}

TEST(RouteChoice, LeavesRingsAndLevelsToTheGroup) {
  for (const char* name :
       {"rings", "rings:1", "rings:4", "hierarchical", "hierarchical:5", "hierarchical:1x5"})
    EXPECT_EQ(all_reduce_by(name, 5), "") << name;
  for (const char* name : {"rings", "hierarchical:2x3", "hierarchical:3x2", "hierarchical:3x1x2"})
    EXPECT_EQ(all_reduce_by(name, 6), "") << name;
  EXPECT_EQ(all_reduce_by("rings", 2), "");
}

TEST(RouteChoice, SaysWhatIsWrongWithAName) {
  const auto why = [](const std::string& name) {
    const Result<RouteChoice> route = RouteChoice::named(name);
    return route ? "" : route.status().message();
  };
  EXPECT_NE(why("packed-trees").find("which a group does not know"), std::string::npos);
  EXPECT_NE(why("rings:0").find("expected rings:N"), std::string::npos);
  EXPECT_NE(why("hierarchical:").find("such as hierarchical:4x2"), std::string::npos);
  EXPECT_NE(why("hierarchical:4x").find("such as hierarchical:4x2"), std::string::npos);
  EXPECT_NE(why("hierarchical:0x2").find("such as hierarchical:4x2"), std::string::npos);
  EXPECT_NE(all_reduce_by("rings:3", 4).find("route rings:3: 4 ranks have 2 rings"), std::string::npos);
  EXPECT_NE(all_reduce_by("hierarchical:2x3", 4).find("must multiply to the 4 ranks"), std::string::npos);
  const RouteChoice named = *RouteChoice::named("hierarchical");
  GroupRoutes unequal({{0, 0, 2}, {0, 0, 2}, {2, 2, 2}}), dealt({{0, 0, 2}, {1, 1, 2}, {0, 0, 2}});
  const auto shaped = unequal.shape(RoutePlans::behind(named));
  ASSERT_TRUE(shaped.ok()) << shaped.status().message();
  EXPECT_EQ((*shaped)->of(1).name(), "hierarchical:2+1x2");
  EXPECT_NE(dealt.shape(RoutePlans::behind(named)).status().message().find("not numbered machine by machine"),
            std::string::npos);
}

}  // namespace
}  // namespace thalweg
