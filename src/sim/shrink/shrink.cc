#include "sim/shrink/shrink.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace thalweg::sim {
namespace {

std::string_view checker_in(std::string_view found) { return found.substr(0, found.find(']')); }

// Smaller values of a part to try, the smallest first: of a large one no less than an eighth goes.
std::set<std::uint64_t> smaller(std::uint64_t has, std::uint64_t least) {
  if (has <= least) return {};
  return {least, least + (has - least) / 2, has - std::max<std::uint64_t>(1, (has - least) / 8)};
}

}  // namespace

Shrunk shrink(const Reducible& plan, const RunReport& failed, const std::function<bool()>& may_go_on) {
  Shrunk shrunk;
  shrunk.report = failed;
  // Whether it still fails with so much of that part left.
  const auto fails = [&](std::string_view name, std::uint64_t left) {
    Reductions more = shrunk.reductions;
    more[std::string(name)] = left;
    std::optional<RunReport> report = plan.run(more);
    if (!report) return false;
    ++shrunk.tries;
    if (report->ok() || checker_in(report->violation) != checker_in(failed.violation)) return false;
    shrunk.reductions = std::move(more);
    shrunk.report = *std::move(report);
    return true;
  };
  const auto may_try = [&] { return shrunk.tries < kShrinkTriesMax && may_go_on(); };
  const auto all = plan.parts({});
  const std::size_t knobs = all ? all->size() : 0;
  for (bool again = true; std::exchange(again, false);) {
    for (const std::string& name : plan.single) {
      if (shrunk.reductions.contains(name)) continue;
      if (!may_try()) return shrunk;
      again = fails(name, 0) || again;
    }
    for (std::size_t i = 0; i < knobs; ++i) {
      const auto parts = plan.parts(shrunk.reductions);
      if (!parts) return shrunk;
      const Part& part = (*parts)[i];
      for (const std::uint64_t value : smaller(part.has, part.least)) {
        if (!may_try()) return shrunk;
        if (!fails(part.name, value)) continue;
        again = true;
        break;
      }
    }
  }
  shrunk.whole = true;
  return shrunk;
}

}  // namespace thalweg::sim
