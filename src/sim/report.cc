#include "sim/report.h"

#include <fmt/format.h>

#include "sim/findings.h"

namespace thalweg::sim {

std::string other_course(const RunReport& first, const RunReport& second) {
  const bool same_events = second.trace_hash == first.trace_hash && second.events == first.events;
  if (second.ok() && same_events && second.outcome_hash == first.outcome_hash) return {};
  if (second.ok() && same_events)
    return violation(Checker::kSameCourse, "the same events, and tables or steps that differ at the end");
  return violation(Checker::kSameCourse,
                   fmt::format("{} events with hash {:016x}, at first {} with {:016x}{}{}", second.events,
                               second.trace_hash, first.events, first.trace_hash, second.ok() ? "" : "; ",
                               second.violation));
}

}  // namespace thalweg::sim
