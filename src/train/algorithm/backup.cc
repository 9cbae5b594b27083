#include "base/limits.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// x <- x - rate * sum of g_i(x) over the shards i that are heard first, all but K of them; those of the
// others are dropped, and they read the next x. The rate is of the sum, which the paper divides by the number
// of heard ones.

constexpr AlgorithmNumber kLateNumber[] = {{
    .placeholder = "K",
    .low = 0,
    .high = limits::kShardsMax - 1,
    .summary = "shards that a step does not wait for",
}};

}  // namespace

extern constinit const Algorithm kBackupAlgorithm = {
    .name = "backup",
    .summary = "as sync, but a step closes without the K slowest shards; what they push to it is dropped",
    .result = "depends on which shards were late",
    .paper =
        "Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting distributed synchronous SGD, ICLR 2016 workshop, "
        "section 3",
    .numbers = kLateNumber,
    .consistency = [](const AlgorithmValues& values) { return Consistency::backup(values.whole()); },
};

}  // namespace thalweg
