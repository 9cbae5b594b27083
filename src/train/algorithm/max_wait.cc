#include <chrono>

#include "thalweg/wait_limit.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// x <- x - rate * sum of g_i(x) over the shards i that have pushed when all have, or when TIME has passed
// since the first of them did; those of the others are dropped, and they read the next x. Each server keeps
// the time for its own tables. The rate is of the sum.

constexpr AlgorithmNumber kWaitNumber[] = {{
    .placeholder = "TIME",
    .low = 1e-5,
    .high = 36000,
    .time = true,
    .summary = "how long a step waits at most once a shard has pushed to it, such as 50ms",
}};

}  // namespace

extern constinit const Algorithm kMaxWaitAlgorithm = {
    .name = "max-wait",
    .summary = "as sync, but a step waits TIME at most behind its first push; what comes later is dropped",
    .result = "depends on which shards were late",
    .paper =
        "Chen, Pan, Monga, Bengio, Jozefowicz, Revisiting distributed synchronous SGD, ICLR 2016 workshop, "
        "section 3, by a time in place of a number",
    .numbers = kWaitNumber,
    .consistency =
        [](const AlgorithmValues& values) {
          return max_wait(std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * values[""])));
        },
};

}  // namespace thalweg
