// A failing seed's plan made smaller, step by step, for as long as the same checker finds something: delta
// debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", TSE 2002), over what
// a plan is made of instead of the bytes of an input.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sim/cluster/plan.h"
#include "sim/report.h"
#include "thalweg/status.h"

namespace thalweg::sim {

// What is left of parts of a plan, by their names; 0: they are left out.
using Reductions = std::map<std::string, std::uint64_t>;
// "drop,workers=2"
std::string to_text(const Reductions& reductions);
Result<Reductions> parse_reductions(std::string_view text);
// kUsage: a part that this plan does not have, or has less of.
Status reduce(Plan& plan, const Reductions& reductions);

struct Shrunk {
  Reductions reductions;  // That no further one keeps the violation, unless the search was ended before.
  Report report;          // Of the plan that is left.
  std::uint64_t tries = 0;
  bool whole = false;  // The search came to its end.
};
inline constexpr std::uint64_t kShrinkTriesMax = 500;
// `failed`: what `run(plan)` is. Tries until nothing more can be left out, kShrinkTriesMax times at most and
// as long as `may_go_on`.
Shrunk shrink(const Plan& plan, const Report& failed, const std::function<Report(const Plan&)>& run,
              const std::function<bool()>& may_go_on);

}  // namespace thalweg::sim
