#include "train/algorithm/algorithm.h"

namespace thalweg {

extern constinit const Algorithm kSyncAlgorithm = {
    .name = "sync",
    .summary = "all shards' gradients of a step are one update, which the next step reads",
    .result = "the same bits on any number of workers and servers, whichever workers die",
    .paper = "Valiant, A bridging model for parallel computation, CACM 1990",
    .combines = true,
    .consistency = [](std::uint32_t) { return Consistency::sync(); },
};

}  // namespace thalweg
