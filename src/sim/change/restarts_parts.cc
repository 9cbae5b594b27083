#include "sim/change/restarts_parts.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "sim/shrink/cluster_parts.h"

namespace thalweg::sim {
namespace {

// What some life has is a part of the job, and is left out of each. `Place` finds it in a life.
template <class Place>
constexpr Knob<RestartsPlan> kind_of_lives(std::string_view name, Place /*place*/) {
  return {name,
          [](const RestartsPlan& plan) {
            return std::uint64_t{std::ranges::any_of(plan.lives, [](const LifePlan& life) {
              const auto& value = Place{}(life);
              return value != std::decay_t<decltype(value)>{};
            })};
          },
          [](RestartsPlan& plan, std::uint64_t) {
            for (LifePlan& life : plan.lives) Place{}(life) = {};
          }};
}

// The most that a life has.
template <class Place>
constexpr Knob<RestartsPlan> most_of_lives(std::string_view name, Place /*place*/,
                                           std::uint64_t (*least)(const RestartsPlan&)) {
  return {name,
          [](const RestartsPlan& plan) {
            std::uint64_t most = 0;
            for (const LifePlan& life : plan.lives) most = std::max<std::uint64_t>(most, Place{}(life));
            return most;
          },
          [](RestartsPlan& plan, std::uint64_t left) {
            for (LifePlan& life : plan.lives) {
              auto& value = Place{}(life);
              if (value > left) value = static_cast<std::decay_t<decltype(value)>>(left);
            }
          },
          least};
}

void leave_servers_of_lives(RestartsPlan& plan, std::uint64_t left) {
  for (LifePlan& life : plan.lives) {
    life.cluster.servers = std::min(life.cluster.servers, static_cast<std::uint32_t>(left));
    life.cluster.replicas = std::min(life.cluster.replicas, life.cluster.servers);
  }
}

void leave_shards_of_job(RestartsPlan& plan, std::uint64_t left) {
  plan.shards = static_cast<std::uint32_t>(left);
  plan.consistency = for_shards(plan.consistency, plan.shards);
}

// The last life goes on to its end.
std::uint64_t most_events(const RestartsPlan& plan) {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i + 1 < plan.lives.size(); ++i) most = std::max(most, plan.lives[i].events);
  return most;
}

// The largest first.
constexpr Knob<RestartsPlan> kJobParts[] = {
    kind_of_lives(
        "drop", [](auto& life) -> auto& { return life.cluster.frame_faults.drop; }),
    kind_of_lives(
        "repeat", [](auto& life) -> auto& { return life.cluster.frame_faults.repeat; }),
    kind_of_lives(
        "delay", [](auto& life) -> auto& { return life.cluster.frame_faults.delay; }),
    kind_of_lives(
        "split", [](auto& life) -> auto& { return life.cluster.frame_faults.split; }),
    kind_of_lives(
        "worker-deaths", [](auto& life) -> auto& { return life.loss; }),
    kind_of_lives(
        "server-deaths", [](auto& life) -> auto& { return life.loses_server; }),
    kind_of_lives(
        "storing", [](auto& life) -> auto& { return life.cluster.compute_max; }),
    kind_of_lives(
        "jitter", [](auto& life) -> auto& { return life.cluster.jitter; }),
    {"slow-workers",
     [](const RestartsPlan& plan) {
       return std::uint64_t{std::ranges::any_of(plan.lives, [](const LifePlan& life) {
         return std::ranges::any_of(life.cluster.worker_turn,
                                    [](Duration turn) { return turn > Duration{}; });
       })};
     },
     [](RestartsPlan& plan, std::uint64_t) {
       for (LifePlan& life : plan.lives) std::ranges::fill(life.cluster.worker_turn, Duration{});
     }},
    most_of_lives(
        "whole-every", [](auto& life) -> auto& { return life.whole_every; }, least_one),
    {"events", most_events,
     [](RestartsPlan& plan, std::uint64_t left) {
       for (LifePlan& life : plan.lives) life.events = std::min(life.events, left);
     }},
    {"shards", [](const RestartsPlan& plan) { return std::uint64_t{plan.shards}; }, leave_shards_of_job,
     least_one},
    most_of_lives(
        "workers", [](auto& life) -> auto& { return life.cluster.workers; }, least_one),
    most_of_lives(
        "replicas", [](auto& life) -> auto& { return life.cluster.replicas; }, least_one),
    {"servers",
     [](const RestartsPlan& plan) {
       std::uint32_t most = 0;
       for (const LifePlan& life : plan.lives) most = std::max(most, life.cluster.servers);
       return std::uint64_t{most};
     },
     leave_servers_of_lives, least_one},
    number_part<RestartsPlan>(
        "passes", [](auto& plan) -> auto& { return plan.passes; }, least_one),
    number_part<RestartsPlan>(
        "steps", [](auto& plan) -> auto& { return plan.steps; }, least_one),
    {"ranges", [](const RestartsPlan& plan) { return std::uint64_t{*std::ranges::max_element(plan.ranges)}; },
     [](RestartsPlan& plan, std::uint64_t left) {
       for (std::uint16_t& ranges : plan.ranges) ranges = std::min(ranges, static_cast<std::uint16_t>(left));
     },
     least_one},
    number_part<RestartsPlan>(
        "rows", [](auto& plan) -> auto& { return plan.rows; }, least_one),
};

}  // namespace

const Parts<RestartsPlan>& parts_of(const RestartsPlan& /*plan*/) {
  static constexpr Parts<RestartsPlan> kParts = {
      .what = "this seed's job",
      .single = single_parts<RestartsPlan>(
          "life", 1, [](auto& plan) -> auto& { return plan.lives; }),
      .knobs = kJobParts};
  return kParts;
}

}  // namespace thalweg::sim
