#include "placement/placement.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace thalweg {
namespace {

// The ranges of `server` out of `servers` when a job begins; may be empty.
constexpr RangeSpan server_ranges(std::uint16_t ranges, std::uint32_t server, std::uint32_t servers) {
  const auto bound = [&](std::uint64_t s) {
    return static_cast<std::uint16_t>((s * ranges + servers - 1) / servers);
  };
  return {bound(server), bound(std::uint64_t{server} + 1)};
}

bool is_chain(std::vector<std::uint32_t> servers, std::uint32_t count) {
  if (servers.empty() || servers.size() > limits::kChainMax) return false;
  std::ranges::sort(servers);
  return servers.back() < count && std::ranges::adjacent_find(servers) == servers.end();
}

bool is_same_chain(const PlacedRun& a, const PlacedRun& b) {
  return a.chain == b.chain && a.joining == b.joining && a.joined == b.joined;
}

// Neighbours of one chain become one run.
void append(std::vector<PlacedRun>& runs, PlacedRun run) {
  if (run.ranges.begin >= run.ranges.end) return;
  if (!runs.empty() && is_same_chain(runs.back(), run)) {
    runs.back().ranges.end = run.ranges.end;
  } else {
    runs.push_back(std::move(run));
  }
}

}  // namespace

Placement Placement::even(std::uint16_t ranges, std::uint32_t servers, std::uint32_t replicas) {
  Placement placement;
  const std::uint32_t length = std::clamp(replicas, 1u, servers);
  const std::uint32_t chains = length > 1 ? servers - 1 : 1;  // Of one owner.
  for (std::uint32_t server = 0; server < servers; ++server) {
    const RangeSpan owned = server_ranges(ranges, server, servers);
    for (std::uint32_t c = 0; c < chains; ++c) {
      const RangeSpan part = server_ranges(owned.size(), c, chains);
      std::vector<std::uint32_t> chain{server};
      for (std::uint32_t i = 0; i + 1 < length; ++i)
        chain.push_back((server + 1 + (c + i) % (servers - 1)) % servers);
      append(placement.runs_, {{static_cast<std::uint16_t>(owned.begin + part.begin),
                                static_cast<std::uint16_t>(owned.begin + part.end)},
                               std::move(chain)});
    }
  }
  return placement;
}

std::optional<Placement> Placement::of(std::vector<PlacedRun> runs, std::uint16_t ranges,
                                       std::uint32_t servers) {
  std::uint16_t next = 0;
  const PlacedRun* before = nullptr;
  for (PlacedRun& run : runs) {
    if (run.ranges.begin != next || run.ranges.end <= next || !is_chain(run.chain, servers)) return {};
    if (run.in_sync().empty()) return {};
    if (run.joining != 0) run.joined[run.chain.back()] = run.joining;
    for (const auto& [server, attempt] : run.joined) {
      if (attempt == 0 || std::ranges::count(run.chain, server) == 0) return {};
    }
    if (before != nullptr && is_same_chain(*before, run)) return {};
    before = &run;
    next = run.ranges.end;
  }
  if (next != ranges) return {};
  Placement placement;
  placement.runs_ = std::move(runs);
  return placement;
}

const PlacedRun& Placement::run_of(RangeId range) const {
  const auto run = std::ranges::upper_bound(runs_, range.value, {},
                                            [](const PlacedRun& placed) { return placed.ranges.begin; });
  THALWEG_CHECK(run != runs_.begin() && std::prev(run)->ranges.contains(range), "every range is placed");
  return *std::prev(run);
}

std::optional<std::uint32_t> Placement::owner(RangeSpan ranges) const {
  if (ranges.begin >= ranges.end || runs_.empty() || ranges.end > runs_.back().ranges.end) return {};
  const PlacedRun* run = &run_of(RangeId{ranges.begin});
  const std::uint32_t owner = run->chain.front();
  while (run->ranges.end < ranges.end) {  // Runs of one owner may differ in who follows it.
    if ((++run)->chain.front() != owner) return {};
  }
  return owner;
}

RangeSet Placement::owned_by(std::uint32_t server) const {
  RangeSet owned;
  for (const PlacedRun& run : runs_) {
    if (run.chain.front() == server) owned.add(run.ranges);
  }
  return owned;
}

RangeSet Placement::copied_by(std::uint32_t server) const {
  RangeSet copied;
  for (const PlacedRun& run : runs_) {
    if (run.chain.front() != server && std::ranges::count(run.in_sync(), server) > 0) copied.add(run.ranges);
  }
  return copied;
}

std::vector<PlacedRun> Placement::joined_by(std::uint32_t server) const {
  std::vector<PlacedRun> runs;
  std::ranges::copy_if(runs_, std::back_inserter(runs),
                       [&](const PlacedRun& run) { return run.joining != 0 && run.chain.back() == server; });
  return runs;
}

std::vector<PlacedRun> Placement::joiners_of(std::uint32_t server) const {
  std::vector<PlacedRun> runs;
  std::ranges::copy_if(runs_, std::back_inserter(runs), [&](const PlacedRun& run) {
    return run.joining != 0 && run.in_sync().back() == server;
  });
  return runs;
}

std::vector<RangeSpan> Placement::copied_of(std::uint32_t server) const {
  std::vector<RangeSpan> runs;
  for (const PlacedRun& run : runs_) {
    if (run.chain.front() == server && run.chain.size() > 1) runs.push_back(run.ranges);
  }
  return runs;
}

const std::vector<std::uint32_t>* Placement::chain_of(RangeSpan ranges) const {
  if (ranges.begin >= ranges.end || runs_.empty() || ranges.end > runs_.back().ranges.end) return nullptr;
  const PlacedRun& run = run_of(RangeId{ranges.begin});
  return ranges.end <= run.ranges.end ? &run.chain : nullptr;
}

std::optional<std::uint32_t> Placement::before(RangeSpan ranges, std::uint32_t server) const {
  const auto* chain = chain_of(ranges);
  if (chain == nullptr) return {};
  const auto at = std::ranges::find(*chain, server);
  return at == chain->begin() || at == chain->end() ? std::nullopt : std::optional(*std::prev(at));
}

std::optional<std::uint32_t> Placement::after(RangeSpan ranges, std::uint32_t server) const {
  const auto* chain = chain_of(ranges);
  if (chain == nullptr) return {};
  const auto at = std::ranges::find(*chain, server);
  return at == chain->end() || std::next(at) == chain->end() ? std::nullopt : std::optional(*std::next(at));
}

std::uint32_t Placement::joined_as(RangeId range, std::uint32_t server) const {
  const auto& joined = run_of(range).joined;
  const auto attempt = joined.find(server);
  return attempt == joined.end() ? 0 : attempt->second;
}

bool Placement::places(std::uint32_t server) const {
  return std::ranges::any_of(runs_,
                             [&](const PlacedRun& run) { return std::ranges::count(run.chain, server) > 0; });
}

RangeSet Placement::only_on(std::uint32_t server) const {
  RangeSet only;
  for (const PlacedRun& run : runs_) {
    if (run.chain.front() == server && run.in_sync().size() == 1) only.add(run.ranges);
  }
  return only;
}

void Placement::remove(std::uint32_t server, std::uint32_t joining) {
  for (PlacedRun& run : std::exchange(runs_, {})) {
    const bool joiner = run.joining != 0 && run.chain.back() == server;
    const bool shorter = std::erase(run.chain, server) > 0;
    run.joined.erase(server);
    if (shorter && run.joining != 0) run.joining = joiner ? 0 : joining;
    if (run.joining != 0) run.joined[run.chain.back()] = run.joining;
    THALWEG_CHECK(!run.chain.empty() && !run.in_sync().empty(), "the last of a chain stays");
    append(runs_, std::move(run));
  }
}

void Placement::move(RangeSpan ranges, std::vector<std::uint32_t> chain, std::uint32_t joining) {
  THALWEG_CHECK(ranges.begin < ranges.end && !runs_.empty() && ranges.end <= runs_.back().ranges.end,
                "what moves is placed");
  std::vector<PlacedRun> runs;
  const auto clip = [&](PlacedRun run, std::uint16_t begin, std::uint16_t end) {
    run.ranges = {std::max(run.ranges.begin, begin), std::min(run.ranges.end, end)};
    append(runs, std::move(run));
  };
  PlacedRun moved{ranges, std::move(chain), joining, run_of(RangeId{ranges.begin}).joined};
  std::erase_if(moved.joined,
                [&](const auto& entry) { return std::ranges::count(moved.chain, entry.first) == 0; });
  if (joining != 0) moved.joined[moved.chain.back()] = joining;
  for (const PlacedRun& run : runs_) clip(run, 0, ranges.begin);
  append(runs, std::move(moved));
  for (const PlacedRun& run : runs_) clip(run, ranges.end, runs_.back().ranges.end);
  runs_ = std::move(runs);
}

RangeSet Placement::end_join(RangeSpan ranges, std::uint32_t server, std::uint32_t joining) {
  RangeSet joined;
  for (const PlacedRun& run : joined_by(server)) {
    const RangeSpan both{std::max(run.ranges.begin, ranges.begin), std::min(run.ranges.end, ranges.end)};
    if (run.joining != joining || both.begin >= both.end) continue;
    move(both, run.chain);
    joined.add(both);
  }
  return joined;
}

Placement Placement::renamed(std::span<const std::uint32_t> servers) const {
  Placement other = *this;
  for (PlacedRun& run : other.runs_) {
    for (std::uint32_t& server : run.chain) server = servers[server];
    std::map<std::uint32_t, std::uint32_t> joined;
    for (const auto& [server, attempt] : run.joined) joined[servers[server]] = attempt;
    run.joined = std::move(joined);
  }
  return other;
}

std::vector<RangeSpan> chain_units(std::uint16_t ranges, std::uint32_t servers) {
  const Placement first = Placement::even(ranges, servers, 2);
  const std::uint32_t chains = servers * std::max(servers - 1, 1u);
  const std::uint32_t pieces = (kUnitsLeast + chains - 1) / chains;  // Of each chain's ranges.
  std::vector<RangeSpan> units;
  for (const PlacedRun& run : first.runs()) {
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
      const RangeSpan part = server_ranges(run.ranges.size(), piece, pieces);
      if (part.size() == 0) continue;
      units.push_back({static_cast<std::uint16_t>(run.ranges.begin + part.begin),
                       static_cast<std::uint16_t>(run.ranges.begin + part.end)});
    }
  }
  return units;
}

std::vector<Placement> first_placement(std::span<const TableSpec> tables, std::uint32_t servers,
                                       std::uint32_t replicas) {
  std::vector<Placement> placement;
  for (const TableSpec& table : tables) placement.push_back(Placement::even(table.ranges, servers, replicas));
  return placement;
}

std::vector<Placement> first_placement(std::span<const TableSpec> tables,
                                       std::span<const std::uint32_t> servers, std::uint32_t replicas) {
  auto placement = first_placement(tables, static_cast<std::uint32_t>(servers.size()), replicas);
  for (Placement& one : placement) one = one.renamed(servers);
  return placement;
}

}  // namespace thalweg
