// Dedicated servers: the last n of N = m + n ranks own a part each; m workers send it to them and get the sum
// back. Bytes: a worker S each way, a server mS/n. Time, whole: 2(L + mS/(nB)); in pieces half of that.
// Spare servers: the workers own parts as well, smaller ones, so that every port is busy both ways all the
// time: with b = 2(m-1)/(m^2 + nm - 2n), a server owns bS and a worker (1 - nb)S/m.
// Time: 2m(m-1)S / ((m^2 + nm - 2n)B). n = 0 is the spread route, n = m is S/B.
// Y. Jiang et al., "A unified architecture for accelerating distributed DNN training in heterogeneous GPU/CPU
// clusters", OSDI 2020, section 4.
#include <algorithm>
#include <cmath>
#include <vector>

#include "exchange/lanes.h"

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
  Block of(std::uint32_t owner) const { return {begins[owner], begins[owner + 1] - begins[owner]}; }
  // Into how many pieces each part is cut.
  std::uint64_t rounds(std::uint64_t piece) const {
    std::uint64_t most = 1;
    for (std::uint32_t owner = 0; owner + 1 < begins.size(); ++owner) {
      most = std::max(most, Pieces(of(owner), piece).size());
    }
    return most;
  }
};

constexpr std::uint64_t kAhead = 1;  // Pieces that a worker has sent before it waits for its fellows'.

// All-reduce among ranks of which the first `workers` contribute and each owns its part. Every part is cut
// into as many pieces, so that ports stay evenly loaded; peers are served in turns that begin elsewhere at
// each rank, so that no port gets all at once; and a worker returns sums between the pieces it sends. What
// servers return, the next lane takes, so that it waits for nothing else.
Lane owned_lane(Team team, Work work, OwnedParts parts) {
  const std::uint32_t n = team.size, me = team.me, workers = parts.workers, servers = n - workers;
  const bool works = me < workers;
  const std::uint64_t rounds = parts.rounds(work.piece);
  const auto piece = [&](std::uint32_t owner, std::uint64_t round) {
    return part_of(parts.of(owner), rounds, round);
  };
  std::vector<std::uint32_t> fellows;  // Workers, in this rank's order.
  const std::uint32_t first = works ? me : (me - workers) % workers;
  for (std::uint32_t d = works ? 1 : 0; d < workers; ++d) fellows.push_back((first + d) % workers);

  for (std::uint64_t i = 0; i < rounds + kAhead; ++i) {
    for (std::uint32_t d = 0; works && i < rounds && d < servers; ++d) {
      const std::uint32_t server = workers + static_cast<std::uint32_t>((me + i + d) % servers);
      co_yield send(team.rank(server), piece(server, i), work.in);
    }
    for (const std::uint32_t fellow : fellows) {
      if (works && i < rounds) co_yield send(team.rank(fellow), piece(fellow, i), work.in);
    }
    if (i < kAhead) continue;
    const Block own = piece(me, i - kAhead);
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
    for (const std::uint32_t fellow : fellows) {
      co_yield works ? send(team.rank(fellow), own) : send_across(team.rank(fellow), own);
    }
    // In the order in which fellows send both: pieces up to i - kAhead, then the sum from kAhead rounds
    // before.
    for (std::size_t f = fellows.size(); works && i >= 2 * kAhead && f-- > 0;) {
      co_yield receive(team.rank(fellows[f]), piece(fellows[f], i - 2 * kAhead));
    }
  }
  for (std::uint64_t i = rounds - std::min(rounds, kAhead); works && i < rounds; ++i) {
    for (std::size_t f = fellows.size(); f-- > 0;)
      co_yield receive(team.rank(fellows[f]), piece(fellows[f], i));
  }
}

// A worker's second lane.
Lane server_sums_lane(Team team, Work work, OwnedParts parts) {
  const std::uint64_t rounds = parts.rounds(work.piece);
  for (std::uint64_t i = 0; team.me < parts.workers && i < rounds; ++i) {
    for (std::uint32_t server = parts.workers; server < team.size; ++server) {
      co_yield receive(team.rank(server), part_of(parts.of(server), rounds, i));
    }
  }
}

std::vector<Lane> lanes_of(const Team& team, const Work& work, const std::vector<double>& shares,
                           std::uint32_t servers) {
  const OwnedParts parts(work.all(), team.size - servers, shares);
  std::vector<Lane> lanes;
  lanes.push_back(owned_lane(team, work, parts));
  if (servers > 0) lanes.push_back(server_sums_lane(team, work, parts));
  return lanes;
}

}  // namespace

std::vector<Lane> servers_lanes(Team team, Work work, std::uint32_t servers) {
  std::vector<double> shares(team.size - servers, 0.0);
  shares.resize(team.size, 1.0 / servers);
  return lanes_of(team, work, shares, servers);
}

std::vector<Lane> spare_servers_lanes(Team team, Work work, std::uint32_t servers) {
  const double m = team.size - servers, n = servers;
  const double optimum = m > 1 ? 2 * (m - 1) / (m * m + n * m - 2 * n) : 0;
  const double server = n > m ? 1 / n : optimum;
  std::vector<double> shares(team.size - servers, (1 - n * server) / m);
  shares.resize(team.size, server);
  return lanes_of(team, work, shares, servers);
}

}  // namespace thalweg
