// Owners: some ranks own a part of the vector each, get it from all workers and send the sum back.
#include <algorithm>
#include <cmath>
#include <vector>

#include "exchange/route/lanes.h"

namespace thalweg {
namespace {

// Which part of the vector each rank owns.
struct OwnedParts {
  std::uint32_t workers = 0;
  std::vector<std::uint64_t> begins;  // And the end.

  OwnedParts(Block whole, std::uint32_t those_who_work, const std::vector<double>& shares)
      : workers(those_who_work), begins{whole.begin} {
    double share = 0;
    for (const double each : shares) {
      share += each;
      const auto at = static_cast<std::uint64_t>(std::llround(static_cast<double>(whole.count) * share));
      begins.push_back(whole.begin + std::clamp(at, begins.back() - whole.begin, whole.count));
    }
    begins.back() = whole.end();
  }
  bool has(std::uint32_t owner) const { return begins[owner] < begins[owner + 1]; }
  Block of(std::uint32_t owner) const { return {begins[owner], begins[owner + 1] - begins[owner]}; }
  Block piece(std::uint32_t owner, std::uint64_t rounds, std::uint64_t round) const {
    return part_of(of(owner), rounds, round);
  }
  // Into how many pieces each part is cut.
  std::uint64_t rounds(std::uint64_t piece) const {
    std::uint64_t most = 1;
    for (std::uint32_t owner = 0; owner + 1 < begins.size(); ++owner) {
      most = std::max(most, Pieces(of(owner), piece).size());
    }
    return most;
  }
};

// All-reduce among ranks of which the first `workers` contribute and each owns its part. Every part is cut
// into as many pieces, so that ports stay evenly loaded, and peers are served in turns that begin elsewhere
// at each rank, so that no port gets all at once. A lane each for contributions that leave, for the own part,
// and for sums that come back from workers and from servers, so that none waits for another's peer.
constexpr std::uint16_t kOwn = 1, kWorkersSums = 2, kServersSums = 3;  // Lanes.

constexpr LaneStep on_channel(std::uint16_t beyond, LaneStep step) {
  step.channel = beyond;
  return step;
}

Lane contributions_lane(Team team, Work work, OwnedParts parts) {
  const std::uint32_t me = team.me, workers = parts.workers, servers = team.size - workers;
  const std::uint64_t rounds = parts.rounds(work.piece);
  for (std::uint64_t i = 0; me < workers && i < rounds; ++i) {
    for (std::uint32_t d = 0; d < servers; ++d) {
      const std::uint32_t server = workers + static_cast<std::uint32_t>((me + i + d) % servers);
      co_yield on_channel(kOwn, send(team.rank(server), parts.piece(server, rounds, i), work.in));
    }
    for (std::uint32_t d = 1; d < workers; ++d) {
      const std::uint32_t fellow = (me + d) % workers;
      if (!parts.has(fellow)) continue;
      co_yield on_channel(kOwn, send(team.rank(fellow), parts.piece(fellow, rounds, i), work.in));
    }
  }
}

Lane own_part_lane(Team team, Work work, OwnedParts parts) {
  const std::uint32_t me = team.me, workers = parts.workers;
  if (!parts.has(me)) co_return;
  const bool works = me < workers;
  const std::uint64_t rounds = parts.rounds(work.piece);
  std::vector<std::uint32_t> fellows;  // Workers, in this rank's order.
  const std::uint32_t first = works ? me : (me - workers) % workers;
  for (std::uint32_t d = works ? 1 : 0; d < workers; ++d) fellows.push_back((first + d) % workers);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const Block own = parts.piece(me, rounds, i);
    for (std::size_t f = fellows.size(); f-- > 0;) {
      const bool begun = f + 1 < fellows.size();
      const std::uint32_t from = team.rank(fellows[f]);
      if (begun || works) {
        co_yield reduce(from, own, begun ? Buffer::kWork : work.in);
      } else {
        co_yield receive(from, own);
      }
    }
    if (fellows.empty()) co_yield copy(own, work.in);
    if (work.finishes) co_yield finish(own);
    const std::uint16_t channel = (works ? kWorkersSums : kServersSums) - kOwn;
    for (const std::uint32_t fellow : fellows) co_yield on_channel(channel, send(team.rank(fellow), own));
  }
}

Lane workers_sums_lane(Team team, Work work, OwnedParts parts) {
  const std::uint64_t rounds = parts.rounds(work.piece);
  for (std::uint64_t i = 0; team.me < parts.workers && i < rounds; ++i) {
    for (std::uint32_t d = parts.workers - 1; d > 0; --d) {
      const std::uint32_t fellow = (team.me + d) % parts.workers;
      if (!parts.has(fellow)) continue;
      co_yield receive(team.rank(fellow), parts.piece(fellow, rounds, i));
    }
  }
}

Lane servers_sums_lane(Team team, Work work, OwnedParts parts) {
  const std::uint64_t rounds = parts.rounds(work.piece);
  for (std::uint64_t i = 0; team.me < parts.workers && i < rounds; ++i) {
    for (std::uint32_t server = parts.workers; server < team.size; ++server) {
      co_yield receive(team.rank(server), parts.piece(server, rounds, i));
    }
  }
}

}  // namespace

void add_owners(const Work& work, OwnShares own, LaneMaker& to) {
  const std::uint32_t servers = to.plan.servers, workers = to.all.size - servers;
  std::vector<double> shares(workers, own.worker);
  shares.resize(to.all.size, own.server);
  const OwnedParts parts(work.all(), workers, shares);
  to.add(contributions_lane(to.all, work, parts));
  to.add(own_part_lane(to.all, work, parts));
  to.add(workers_sums_lane(to.all, work, parts));
  if (servers > 0) to.add(servers_sums_lane(to.all, work, parts));
}

}  // namespace thalweg
