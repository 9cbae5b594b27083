#include "sim/shrink/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace thalweg::sim {
namespace {

std::uint64_t none(const Plan&) { return 0; }

// A part of a plan: how much there is of it, how little there may be, and that so much is left.
struct Knob {
  std::string_view name;
  std::uint64_t (*has)(const Plan&);
  void (*leave)(Plan&, std::uint64_t);
  std::uint64_t (*least)(const Plan&) = none;
};

std::uint64_t one(const Plan&) { return 1; }

// Each range keeps its copies, and a server that lives beside those that do not.
std::uint64_t least_servers(const Plan& plan) {
  std::uint64_t least = std::max(plan.replicas, 1u), struck = 0;
  for (const CoreFault& fault : plan.core_faults) {
    if (fault.role != Role::kServer) continue;
    ++struck;
    least = std::max<std::uint64_t>(least, fault.index + std::uint64_t{1});
  }
  return plan.copies() ? std::max(least, struck + 1) : least;
}

std::uint64_t most_steps(const Plan& plan) {
  std::uint32_t most = 0;
  for (const auto& shard : plan.steps) most = std::max(most, *std::ranges::max_element(shard));
  return most;
}

void leave_shards(Plan& plan, std::uint64_t left) {
  plan.shards = static_cast<std::uint32_t>(left);
  plan.steps.resize(left);
  std::uint32_t& bound = plan.consistency.bound;
  if (plan.consistency.counts_pushes()) bound = std::min(bound, plan.shards);
  if (plan.consistency.kind == Consistency::Kind::kBackup) bound = std::min(bound, plan.shards - 1);
}

void leave_restarts(Plan& plan, std::uint64_t left) {
  plan.restarts = static_cast<std::uint32_t>(left);
  if (left == 0) plan.etcd = false;
}

void end_faults_at(Plan& plan, std::uint64_t ms) {
  const Duration until = std::chrono::milliseconds(ms);
  plan.node_faults.until = std::min(plan.node_faults.until, until);
  plan.state_faults.until = std::min(plan.state_faults.until, until);
}

// A kind of fault, or of load, that is there or not. `Place` finds it in a plan.
template <class Place>
constexpr Knob kind(std::string_view name, Place /*place*/) {
  return {name,
          [](const Plan& plan) {
            const auto& value = Place{}(plan);
            return std::uint64_t{value != std::decay_t<decltype(value)>{}};
          },
          [](Plan& plan, std::uint64_t) { Place{}(plan) = {}; }};
}

template <class Place>
constexpr Knob number(std::string_view name, Place /*place*/, std::uint64_t (*least)(const Plan&)) {
  return {name, [](const Plan& plan) { return std::uint64_t{Place{}(plan)}; },
          [](Plan& plan, std::uint64_t left) { Place{}(plan) = static_cast<std::uint32_t>(left); }, least};
}

// The largest first. What the plan's core faults are is apart.
constexpr Knob kKnobs[] = {
    number(
        "drains", [](auto& plan) -> auto& { return plan.drains; }, none),
    number(
        "joins", [](auto& plan) -> auto& { return plan.joins; }, none),
    number(
        "moves", [](auto& plan) -> auto& { return plan.moves; }, none),
    {"kills", [](const Plan& plan) { return std::uint64_t{plan.restarts}; }, leave_restarts},
    kind(
        "drop", [](auto& plan) -> auto& { return plan.frame_faults.drop; }),
    kind(
        "repeat", [](auto& plan) -> auto& { return plan.frame_faults.repeat; }),
    kind(
        "delay", [](auto& plan) -> auto& { return plan.frame_faults.delay; }),
    kind(
        "flip", [](auto& plan) -> auto& { return plan.frame_faults.flip; }),
    kind(
        "split", [](auto& plan) -> auto& { return plan.frame_faults.split; }),
    kind(
        "partitions", [](auto& plan) -> auto& { return plan.node_faults.partition; }),
    kind(
        "clogs", [](auto& plan) -> auto& { return plan.node_faults.clog; }),
    kind(
        "pauses", [](auto& plan) -> auto& { return plan.node_faults.pause; }),
    kind(
        "crashes", [](auto& plan) -> auto& { return plan.node_faults.crash; }),
    kind(
        "disconnects", [](auto& plan) -> auto& { return plan.node_faults.disconnect; }),
    kind(
        "told", [](auto& plan) -> auto& { return plan.node_faults.told; }),
    kind(
        "late-deaths", [](auto& plan) -> auto& { return plan.late_deaths; }),
    kind(
        "unheard", [](auto& plan) -> auto& { return plan.state_faults.unheard; }),
    kind(
        "unanswered", [](auto& plan) -> auto& { return plan.state_faults.unanswered; }),
    kind(
        "late", [](auto& plan) -> auto& { return plan.state_faults.late; }),
    kind(
        "slow", [](auto& plan) -> auto& { return plan.state_faults.slow; }),
    kind(
        "away", [](auto& plan) -> auto& { return plan.state_faults.away_every; }),
    kind(
        "stop", [](auto& plan) -> auto& { return plan.stop_at; }),
    kind(
        "loads", [](auto& plan) -> auto& { return plan.loads; }),
    kind(
        "looks", [](auto& plan) -> auto& { return plan.looks; }),
    {"clocks", [](const Plan& plan) { return std::uint64_t{plan.clock_begin_max > Duration{}}; },
     [](Plan& plan, std::uint64_t) {
       plan.clock_begin_max = {};
       plan.clock_rate_off = 0;
     }},
    {"computing", [](const Plan& plan) { return std::uint64_t{plan.compute_max > Duration{}}; },
     [](Plan& plan, std::uint64_t) { plan.compute_min = plan.compute_max = {}; }},
    {"combining", [](const Plan& plan) { return std::uint64_t{plan.combine.kind != Combining::Kind::kNone}; },
     [](Plan& plan, std::uint64_t) { plan.combine = Combining::none(); }},
    kind(
        "jitter", [](auto& plan) -> auto& { return plan.jitter; }),
    {"faults-ms",
     [](const Plan& plan) {
       return static_cast<std::uint64_t>(std::max(plan.node_faults.until, plan.state_faults.until) /
                                         std::chrono::milliseconds(1));
     },
     end_faults_at},
    {"shards", [](const Plan& plan) { return std::uint64_t{plan.shards}; }, leave_shards, one},
    number(
        "workers", [](auto& plan) -> auto& { return plan.workers; }, one),
    number(
        "servers", [](auto& plan) -> auto& { return plan.servers; }, least_servers),
    {"epochs", [](const Plan& plan) { return std::uint64_t{plan.epochs()}; },
     [](Plan& plan, std::uint64_t left) {
       for (auto& shard : plan.steps) shard.resize(left);
     },
     one},
    {"steps", most_steps,
     [](Plan& plan, std::uint64_t left) {
       for (auto& shard : plan.steps) {
         for (std::uint32_t& steps : shard) steps = std::min(steps, static_cast<std::uint32_t>(left));
       }
     },
     one},
    {"tables", [](const Plan& plan) { return std::uint64_t{plan.tables.size()}; },
     [](Plan& plan, std::uint64_t left) { plan.tables.resize(left); }, one},
    number(
        "keys", [](auto& plan) -> auto& { return plan.keys; }, one),
};

// "fault.2" is the third of the core faults as the seed has them.
constexpr std::string_view kCoreFault = "fault.";

std::string core_fault_name(std::size_t index) { return fmt::format("{}{}", kCoreFault, index); }

std::string_view checker_in(std::string_view found) { return found.substr(0, found.find(']')); }

// Smaller values of a part to try, the smallest first: of a large one no less than an eighth goes.
std::set<std::uint64_t> smaller(std::uint64_t has, std::uint64_t least) {
  if (has <= least) return {};
  return {least, least + (has - least) / 2, has - std::max<std::uint64_t>(1, (has - least) / 8)};
}

}  // namespace

std::string to_text(const Reductions& reductions) {
  std::string text;
  for (const auto& [name, left] : reductions)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", name, left == 0 ? "" : fmt::format("={}", left));
  return text;
}

Result<Reductions> parse_reductions(std::string_view text) {
  Reductions reductions;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string name(part.substr(0, equals));
    std::uint64_t left = 0;
    bool whole = !name.empty();
    if (equals != std::string_view::npos) {
      const char* const end = part.data() + part.size();
      const auto read = std::from_chars(part.data() + equals + 1, end, left);
      whole = whole && read.ec == std::errc() && read.ptr == end;
    }
    if (!whole || !reductions.emplace(name, left).second) {
      return Status(Code::kUsage,
                    fmt::format("'{}': expected parts of a seed's cluster, each once, as a violation "
                                "prints them: drop,workers=2",
                                part));
    }
  }
  return reductions;
}

Status reduce(Plan& plan, const Reductions& reductions) {
  const Plan whole = plan;
  std::size_t known = 0;
  std::vector<CoreFault> faults;
  for (std::size_t i = 0; i < plan.core_faults.size(); ++i) {
    const auto out = reductions.find(core_fault_name(i));
    if (out == reductions.end() || out->second != 0) {
      faults.push_back(plan.core_faults[i]);
    } else {
      ++known;
    }
  }
  plan.core_faults = std::move(faults);
  std::string has_text;
  for (const Knob& knob : kKnobs) {
    const std::uint64_t has = knob.has(whole), least = knob.least(plan);
    if (has > least) has_text += fmt::format("{}{}", has_text.empty() ? "" : ", ", knob.name);
    const auto found = reductions.find(std::string(knob.name));
    if (found == reductions.end()) continue;
    if (found->second < least || found->second > has) {
      return {Code::kUsage, fmt::format("{}={}: this seed's cluster has {}, expected {} to that", knob.name,
                                        found->second, has, least)};
    }
    ++known;
    if (found->second < knob.has(plan)) knob.leave(plan, found->second);
  }
  if (known == reductions.size()) return ok_status();
  return {Code::kUsage, fmt::format("'{}' names what this seed's cluster does not have, which is: {}",
                                    to_text(reductions), has_text)};
}

Shrunk shrink(const Plan& plan, const Report& failed, const std::function<Report(const Plan&)>& run,
              const std::function<bool()>& may_go_on) {
  Shrunk shrunk;
  shrunk.report = failed;
  // Whether it still fails with so much of that part left.
  const auto fails = [&](const std::string& name, std::uint64_t left) {
    Reductions more = shrunk.reductions;
    more[name] = left;
    Plan tried = plan;
    if (!reduce(tried, more).ok()) return false;
    ++shrunk.tries;
    Report report = run(tried);
    if (report.ok() || checker_in(report.violation) != checker_in(failed.violation)) return false;
    shrunk.reductions = std::move(more);
    shrunk.report = std::move(report);
    return true;
  };
  const auto may_try = [&] { return shrunk.tries < kShrinkTriesMax && may_go_on(); };
  for (bool again = true; std::exchange(again, false);) {
    for (std::size_t i = 0; i < plan.core_faults.size(); ++i) {
      if (shrunk.reductions.contains(core_fault_name(i))) continue;
      if (!may_try()) return shrunk;
      again = fails(core_fault_name(i), 0) || again;
    }
    for (const Knob& knob : kKnobs) {
      Plan left = plan;
      if (!reduce(left, shrunk.reductions).ok()) return shrunk;
      for (const std::uint64_t value : smaller(knob.has(left), knob.least(left))) {
        if (!may_try()) return shrunk;
        if (!fails(std::string(knob.name), value)) continue;
        again = true;
        break;
      }
    }
  }
  shrunk.whole = true;
  return shrunk;
}

}  // namespace thalweg::sim
