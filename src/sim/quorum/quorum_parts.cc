#include "sim/quorum/quorum_parts.h"

#include <algorithm>

namespace thalweg::sim {
namespace {

using namespace std::chrono_literals;

// Each key keeps its homes, by an old ring of one server less too.
std::uint64_t least_ring(const QuorumPlan& plan) {
  return plan.replicas + (plan.old_ring_chance > 0 ? std::uint64_t{1} : 0);
}

// The largest first.
constexpr Knob<QuorumPlan> kRingParts[] = {
    kind_part<QuorumPlan>(
        "drop", [](auto& plan) -> auto& { return plan.network.frame_faults.drop; }),
    kind_part<QuorumPlan>(
        "repeat", [](auto& plan) -> auto& { return plan.network.frame_faults.repeat; }),
    kind_part<QuorumPlan>(
        "delay", [](auto& plan) -> auto& { return plan.network.frame_faults.delay; }),
    kind_part<QuorumPlan>(
        "flip", [](auto& plan) -> auto& { return plan.network.frame_faults.flip; }),
    kind_part<QuorumPlan>(
        "partitions", [](auto& plan) -> auto& { return plan.partition; }),
    kind_part<QuorumPlan>(
        "pauses", [](auto& plan) -> auto& { return plan.pause; }),
    {"crashes", [](const QuorumPlan& plan) { return std::uint64_t{plan.crash}; },
     [](QuorumPlan& plan, std::uint64_t) {
       plan.crash = false;
       plan.disk_losses = 0;
     }},
    number_part<QuorumPlan>(
        "disks", [](auto& plan) -> auto& { return plan.disk_losses; }),
    {"clocks", [](const QuorumPlan& plan) { return std::uint64_t{plan.clock_begin_max > Duration{}}; },
     [](QuorumPlan& plan, std::uint64_t) {
       plan.clock_begin_max = {};
       plan.clock_rate_off = 0;
     }},
    kind_part<QuorumPlan>(
        "old-rings", [](auto& plan) -> auto& { return plan.old_ring_chance; }),
    kind_part<QuorumPlan>(
        "blind", [](auto& plan) -> auto& { return plan.blind_chance; }),
    {"few-hints", [](const QuorumPlan& plan) { return std::uint64_t{plan.hints < quorum::kHintsMax}; },
     [](QuorumPlan& plan, std::uint64_t) { plan.hints = quorum::kHintsMax; }},
    kind_part<QuorumPlan>(
        "away", [](auto& plan) -> auto& { return plan.away_for; }),
    kind_part<QuorumPlan>(
        "sloppy", [](auto& plan) -> auto& { return plan.server.sloppy; }),
    kind_part<QuorumPlan>(
        "jitter", [](auto& plan) -> auto& { return plan.network.jitter; }),
    {"faults-ms", [](const QuorumPlan& plan) { return static_cast<std::uint64_t>(plan.until / 1ms); },
     [](QuorumPlan& plan, std::uint64_t left) {
       plan.until = std::min(plan.until, Duration(std::chrono::milliseconds(left)));
     }},
    number_part<QuorumPlan>(
        "clients", [](auto& plan) -> auto& { return plan.clients; }, least_one),
    number_part<QuorumPlan>(
        "servers", [](auto& plan) -> auto& { return plan.servers; }, least_ring),
    number_part<QuorumPlan>(
        "requests", [](auto& plan) -> auto& { return plan.requests; }, least_one),
    number_part<QuorumPlan>(
        "keys", [](auto& plan) -> auto& { return plan.keys; }, least_one),
};

}  // namespace

const Parts<QuorumPlan>& parts_of(const QuorumPlan& /*plan*/) {
  static constexpr Parts<QuorumPlan> kParts = {.what = "this seed's ring", .single = {}, .knobs = kRingParts};
  return kParts;
}

}  // namespace thalweg::sim
