// Neighbours: each rank sends its vector to each of its neighbours and takes theirs. Those next ahead are
// sent to first, so that where the graph looks alike from every rank no port gets two at once. Bytes of a
// rank with d neighbours: dS. Time: L + dS/B.
#include <algorithm>
#include <numeric>
#include <vector>

#include "exchange/route/lanes.h"

namespace thalweg {

Lane neighbours_lane(Team all, Work work) {
  const auto& ranks = work.neighbours;
  std::vector<std::size_t> ahead(ranks.size());
  std::iota(ahead.begin(), ahead.end(), std::size_t{0});
  std::sort(ahead.begin(), ahead.end(), [&](std::size_t a, std::size_t b) {
    return (ranks[a] + all.size - all.me) % all.size < (ranks[b] + all.size - all.me) % all.size;
  });
  const Pieces pieces(work.all(), work.piece);
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    for (const std::size_t each : ahead) co_yield send(ranks[each], pieces[i], work.in);
  }
  std::reverse(ahead.begin(), ahead.end());  // Those next behind come first.
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    for (const std::size_t each : ahead) {
      co_yield receive(ranks[each], {each * work.whole.count + pieces[i].begin, pieces[i].count});
    }
  }
}

}  // namespace thalweg
