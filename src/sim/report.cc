#include "sim/report.h"

#include <fmt/format.h>

#include "sim/findings.h"

namespace thalweg::sim {

std::string other_course(const RunReport& first, const RunReport& second) {
  if (second.ok() && second.trace_hash == first.trace_hash && second.events == first.events) return {};
  return violation(Checker::kSameCourse,
                   fmt::format("{} events with hash {:016x}, at first {} with {:016x}{}{}", second.events,
                               second.trace_hash, first.events, first.trace_hash, second.ok() ? "" : "; ",
                               second.violation));
}

}  // namespace thalweg::sim
