// One way for a rank of a group to fail, drawn from a seed: which rank, when, and what the group is doing.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/group/group_routes.h"
#include "client/group/group_view.h"
#include "exchange/exchange_case_for_test.h"
#include "thalweg/group.h"

namespace thalweg {

// An operation that a group does again and again.
struct GroupWorkCase {
  ExchangeCase what;
  std::string route;  // Empty: the group chooses.
  RouteChoice choice;
  bool started = false;       // By start(), on the group's own thread.
  bool group_memory = false;  // Where its buffers are.

  std::string text() const {
    return fmt::format("{}, {} by {}, in {} memory", what.name(), started ? "started" : "run",
                       route.empty() ? "the group's choice" : route, group_memory ? "group" : "ordinary");
  }
};

struct FailurePoint {
  std::uint32_t ranks = 4;
  std::uint32_t victim = 0;
  int signal = SIGKILL;
  bool resumed = false;  // After a stop.
  GroupTransport transport = GroupTransport::kTcp;
  std::chrono::microseconds after{};
  GroupWorkCase before, anew;  // Until the failure, and when the group has formed anew.
  std::uint16_t port = 0;

  std::string text() const {
    return fmt::format("rank {} of {} is {}{} after {} us over {}: {}; then {}", victim, ranks,
                       signal == SIGKILL ? "killed" : "stopped", resumed ? " and goes on" : "", after.count(),
                       transport == GroupTransport::kTcp ? "TCP" : "shared memory", before.text(),
                       anew.text());
  }
};

// The names of all routes that `operation` may take.
inline std::vector<std::string> routes_of(Operation operation, std::uint32_t ranks) {
  std::vector<std::string> names;
  for (const std::string& name : routes_for_test()) {
    const Plan plan = plan_for_test(name, ranks);
    if (plan.servers < ranks && check_plan(plan, operation, ranks).ok() &&
        channels_of(plan) <= GroupChannels::kOneMax)
      names.push_back(name);
  }
  return names;
}

inline GroupWorkCase draw_work(Random& random, std::uint32_t ranks) {
  constexpr Operation kDrawn[] = {
      Operation::kAllReduce, Operation::kAllReduce, Operation::kReduce,  Operation::kReduceScatter,
      Operation::kAllGather, Operation::kBroadcast, Operation::kGather,  Operation::kScatter,
      Operation::kAllToAll,  Operation::kAllToAll,  Operation::kBarrier,
  };
  constexpr DataType kTypes[] = {DataType::kF32, DataType::kF64, DataType::kI64, DataType::kBf16};
  constexpr std::uint64_t kCounts[] = {1, 1000, 100'003, 400'000};
  constexpr std::size_t kPieces[] = {0, 4 << 10, 64 << 10};
  GroupWorkCase work;
  ExchangeCase& what = work.what;
  what.operation = kDrawn[random.below(std::size(kDrawn))];
  what.type = kTypes[random.below(std::size(kTypes))];
  what.ranks = ranks;
  what.in_place = random.below(2) == 0;
  what.own_monoid = combines_elements(what.operation) && random.below(6) == 0;
  if (what.own_monoid) what.type = DataType::kI64;
  work.started = random.below(3) == 0;
  work.group_memory = random.below(2) == 0;
  if (what.operation != Operation::kBarrier) what.count = kCounts[random.below(std::size(kCounts))];
  if (what.operation == Operation::kAllToAll) what.count = (what.count + ranks - 1) / ranks * ranks;
  const std::vector<std::string> routes = routes_of(what.operation, ranks);
  const std::uint64_t pick = random.below(routes.size() + routes.size() / 4 + 1);
  if (pick < routes.size()) {
    work.route = routes[pick];
    const Plan plan = plan_for_test(work.route, ranks);
    what.servers = plan.servers;
    work.choice = RoutePlans::choice(plan, kPieces[random.below(std::size(kPieces))]);
  }
  what.root = static_cast<std::uint32_t>(random.below(what.workers()));
  return work;
}

// The point of that number; others of the same seed have no part in it.
inline FailurePoint draw_failure(std::uint64_t seed, std::uint64_t number) {
  Random random = Random(seed).split(number);
  FailurePoint point;
  point.ranks = static_cast<std::uint32_t>(3 + random.below(3));
  point.victim = static_cast<std::uint32_t>(random.below(point.ranks));
  point.signal = random.below(4) > 0 ? SIGKILL : SIGSTOP;  // Which takes 5 s.
  point.resumed = point.signal == SIGSTOP && random.below(2) == 0;
  point.transport = number % 2 == 0 ? GroupTransport::kTcp : GroupTransport::kShm;
  point.after = std::chrono::microseconds(random.below(20'000));
  point.before = draw_work(random, point.ranks);
  point.anew = draw_work(random, point.ranks - 1);
  // Nobody misses a rank that stands still and has no part in what the others do.
  ExchangeCase& what = point.before.what;
  if (point.signal == SIGSTOP && what.count == 1)
    what.count = what.operation == Operation::kAllToAll ? point.ranks : 1000;
  return point;
}

}  // namespace thalweg
