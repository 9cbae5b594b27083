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

// Where the parts of `owners` begin, and the end.
std::vector<std::uint64_t> begins_of(Block whole, const std::vector<double>& shares) {
  std::vector<std::uint64_t> begins{whole.begin};
  double share = 0;
  for (const double each : shares) {
    share += each;
    const auto at = static_cast<std::uint64_t>(std::llround(static_cast<double>(whole.count) * share));
    begins.push_back(whole.begin + std::clamp(at, begins.back() - whole.begin, whole.count));
  }
  begins.back() = whole.end();
  return begins;
}

// All-reduce among ranks of which the first `workers` contribute and each owns the part that begins at
// begins[rank].
Lane owned_lane(Team team, Work work, std::uint32_t workers, std::vector<std::uint64_t> begins) {
  const std::uint32_t n = team.size, me = team.me;
  const auto part = [&](std::uint32_t owner) {
    return Pieces({begins[owner], begins[owner + 1] - begins[owner]}, work.piece);
  };
  const bool works = me < workers;
  std::uint64_t rounds = 0;
  for (std::uint32_t owner = 0; owner < n; ++owner) rounds = std::max(rounds, part(owner).size());
  for (std::uint64_t i = 0; works && i < rounds; ++i) {
    for (std::uint32_t d = 1; d < n; ++d) {
      const std::uint32_t owner = team.after(me, d);
      co_yield send(team.rank(owner), part(owner)[i], work.in);
    }
  }
  const Pieces own = part(me);
  for (std::uint64_t i = 0; i < own.size(); ++i) {
    bool begun = false;
    for (std::uint32_t d = 1; d < n; ++d) {
      const std::uint32_t from = team.before(me, d);
      if (from >= workers) continue;
      if (begun) {
        co_yield reduce(team.rank(from), own[i]);
      } else {
        co_yield works ? reduce(team.rank(from), own[i], work.in) : receive(team.rank(from), own[i]);
      }
      begun = true;
    }
    if (!begun) co_yield copy(own[i], work.in);
    if (work.finishes) co_yield finish(own[i]);
    for (std::uint32_t d = 1; d < n; ++d) {
      if (team.after(me, d) < workers) co_yield send(team.rank(team.after(me, d)), own[i]);
    }
  }
  for (std::uint64_t i = 0; works && i < rounds; ++i) {
    for (std::uint32_t d = 1; d < n; ++d) {
      const std::uint32_t owner = team.before(me, d);
      co_yield receive(team.rank(owner), part(owner)[i]);
    }
  }
}

}  // namespace

Lane servers_lane(Team team, Work work, std::uint32_t servers) {
  std::vector<double> shares(team.size - servers, 0.0);
  shares.resize(team.size, 1.0 / servers);
  return owned_lane(team, work, team.size - servers, begins_of(work.all(), shares));
}

Lane spare_servers_lane(Team team, Work work, std::uint32_t servers) {
  const double m = team.size - servers, n = servers;
  const double optimum = m > 1 ? 2 * (m - 1) / (m * m + n * m - 2 * n) : 0;
  const double server = n > m ? 1 / n : optimum;
  std::vector<double> shares(team.size - servers, (1 - n * server) / m);
  shares.resize(team.size, server);
  return owned_lane(team, work, team.size - servers, begins_of(work.all(), shares));
}

}  // namespace thalweg
