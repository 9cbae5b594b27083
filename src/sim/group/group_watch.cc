#include "sim/group/group_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace thalweg::sim {
namespace {

constexpr Duration kPrompt = std::chrono::milliseconds(500);

std::string rank_name(std::uint32_t process) { return fmt::format("rank {}", process); }

}  // namespace

GroupWatch::GroupWatch(GroupWorld& world)
    : world_(world),
      over_(world.plan().ranks),
      ended_(world.plan().ranks),
      group_of_(world.plan().ranks, kNone) {
  const GroupPlan& plan = world.plan();
  if (plan.faults.size() != 1) return;
  const GroupFault& fault = plan.faults[0];
  const bool stops = fault.kind == GroupFault::Kind::kPause && fault.lasts > plan.timeout * 4;
  if (fault.kind == GroupFault::Kind::kKill || stops) culprit_ = fault.rank;
}

// A rank may be named for its own fault, or for ending because of one.
bool GroupWatch::had_fault(std::uint32_t process) const {
  if (over_[process]) return true;
  for (const GroupFault& fault : world_.plan().faults) {
    if (fault.at > world_.now()) continue;
    if (fault.kind == GroupFault::Kind::kPartition || fault.kind == GroupFault::Kind::kPause) return true;
    if (fault.rank == process) return true;
    if (fault.kind == GroupFault::Kind::kDisconnect && fault.other == process) return true;
  }
  return false;
}

void GroupWatch::formed(std::uint64_t group, const std::vector<std::uint32_t>& processes, Instant last_came) {
  ++groups_;
  std::string names;
  for (const std::uint32_t process : processes) names += fmt::format(" {}", process);
  world_.note(processes[0], fmt::format("group {} forms:{}", group, names));
  if (!std::is_sorted(processes.begin(), processes.end()))
    world_.findings().add(Checker::kTogether, "ranks do not keep their order:" + names);
  if (!strict()) return;
  const std::set<std::uint32_t> all(processes.begin(), processes.end());
  for (std::uint32_t process = 0; process < over_.size(); ++process) {
    if (process == culprit_ || over_[process] || all.count(process) > 0) continue;
    world_.findings().add(Checker::kTogether, fmt::format("group {} forms anew without {}, which lives",
                                                          group, rank_name(process)));
  }
  if (world_.now() - last_came > kPrompt) {
    world_.findings().add(Checker::kPromptness,
                          fmt::format("group {} forms long after all who remain have come", group));
  }
}

void GroupWatch::entered(std::uint32_t process, std::uint64_t group,
                         const std::vector<std::uint32_t>& processes) {
  parent_[group] = group_of_[process];
  group_of_[process] = group;
  const GroupPlan& plan = world_.plan();
  if (group == 0) {
    ++entered_first_;
    first_whole_ = entered_first_ == plan.ranks && culprit_ && world_.now() < plan.faults[0].at;
    return;
  }
  // A rank whose connections have all worked must not be a group of its own while others are another.
  const bool cut = std::any_of(plan.faults.begin(), plan.faults.end(), [](const GroupFault& fault) {
    return fault.kind == GroupFault::Kind::kDisconnect || fault.kind == GroupFault::Kind::kPartition;
  });
  if (cut) return;
  for (std::uint32_t other = 0; other < over_.size(); ++other) {
    const bool lives =
        other != process && !over_[other] && !world_.is_dead(other) && !world_.is_paused(other);
    const bool in = std::find(processes.begin(), processes.end(), other) != processes.end();
    const bool beside = group_of_[other] != kNone && parent_[group_of_[other]] == parent_[group];
    if (!lives || in || !beside || processes.size() > 1) continue;
    world_.findings().add(Checker::kTogether,
                          fmt::format("{} is alone in group {} while {} is in group {}", rank_name(process),
                                      group, rank_name(other), group_of_[other]));
  }
}

void GroupWatch::succeeded(std::uint32_t process, const std::string& operation, bool right) {
  ++operations_;
  if (!right)
    world_.findings().add(Checker::kSums,
                          fmt::format("{}: {} gave a wrong result", rank_name(process), operation));
}

void GroupWatch::failed(std::uint32_t process, std::uint64_t group, std::uint32_t guilty, const Status& how) {
  ++failures_;
  world_.note(process, fmt::format("in group {} names rank {}: {}", group, guilty, how.message()));
  if (strict() && group == 0 && process != culprit_ && guilty != culprit_) {
    world_.findings().add(Checker::kBlame, fmt::format("{} names rank {} instead of {}: {}",
                                                       rank_name(process), guilty, *culprit_, how.message()));
  }
  if (!had_fault(guilty)) {
    world_.findings().add(Checker::kBlame, fmt::format("{} names rank {}, with which nothing was wrong: {}",
                                                       rank_name(process), guilty, how.message()));
  }
}

void GroupWatch::waits_too_long(std::uint32_t process, const std::string& what) {
  world_.findings().add(Checker::kDeadline,
                        fmt::format("{} waits beyond the deadline: {}", rank_name(process), what));
}

void GroupWatch::finished(std::uint32_t process, const Status& how) {
  over_[process] = true;
  ended_[process] = how;
  world_.note(process, how.ok() ? "is done" : "ends: " + how.message());
  if (how.ok() || process == culprit_) return;
  if (strict() || world_.plan().faults.empty()) {
    world_.findings().add(Checker::kTogether,
                          fmt::format("{} does not go on: {}", rank_name(process), how.message()));
  }
}

void GroupWatch::end() {
  for (std::uint32_t process = 0; process < over_.size(); ++process) {
    if (!over_[process] && !world_.is_dead(process))
      world_.findings().add(Checker::kProgress,
                            rank_name(process) + " has not ended, and nothing is left to happen");
  }
}

}  // namespace thalweg::sim
