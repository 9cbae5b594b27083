#include <limits>

#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// x <- x - rate * g_i(x~) as each push comes, where x~, read by shard i at its clock c, has all updates of
// clocks up to c - S - 1, all of its own, and of the rest what has arrived. S = 0 leaves nothing to arrive:
// it is sync.

constexpr AlgorithmNumber kBoundNumber[] = {{
    .placeholder = "S",
    .low = 0,
    .high = std::numeric_limits<std::uint32_t>::max(),
    .summary = "steps that a shard may lead the slowest",
}};

}  // namespace

extern constinit const Algorithm kBoundedAlgorithm = {
    .name = "ssp",
    .summary = "each push is an update as it comes; no shard reads more than S steps ahead of the slowest",
    .result = "depends on timing, within the bound; of 0 as sync, bits included",
    .paper =
        "Ho et al., More effective distributed ML via a stale synchronous parallel parameter server, NIPS "
        "2013, section 2",
    .numbers = kBoundNumber,
    .consistency = [](const AlgorithmValues& values) { return Consistency::bounded(values.whole()); },
};

}  // namespace thalweg
