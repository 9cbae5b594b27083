#include "base/limits.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// x <- x - rate / c * sum over c pushes of g / max(1, t), where c = max(1, floor(shards / N)) and t is the
// number of updates since the push's shard read x. Servers count by key range.

constexpr AlgorithmNumber kSplitNumber[] = {{
    .placeholder = "N",
    .low = 1,
    .high = limits::kShardsMax,
    .summary = "updates that are made of as many pushes as there are shards",
}};

}  // namespace

extern constinit const Algorithm kSoftsyncAlgorithm = {
    .name = "softsync",
    .summary = "shards / N pushes of any shards are one update, each scaled by its staleness",
    .result = "depends on timing; a push is about N updates behind",
    .paper =
        "Gupta, Zhang, Wang, Model accuracy and runtime tradeoff in distributed deep learning, ICDM 2016, "
        "section 3; Zhang et al., Staleness-aware async-SGD for distributed deep learning, IJCAI 2016",
    .numbers = kSplitNumber,
    .combines = true,
    .consistency = [](const AlgorithmValues& values) { return Consistency::softsync(values.whole()); },
};

}  // namespace thalweg
