#include "train/algorithm/algorithm.h"

namespace thalweg {

// x <- x - rate * g_i(x'), as each push comes, where x' is x as it was some updates of others ago.
extern constinit const Algorithm kAsyncAlgorithm = {
    .name = "async",
    .summary = "each push is an update as it comes, and no shard waits for others within a pass",
    .result = "depends on timing",
    .paper =
        "Recht et al., Hogwild!: a lock-free approach to parallelizing stochastic gradient descent, "
        "NIPS 2011, algorithm 1, there element by element; Li et al., Scaling distributed machine learning "
        "with the parameter server, "
        "OSDI 2014, section 3.5, flexible consistency: eventual",
    .consistency = [](const AlgorithmValues&) { return Consistency::async(); },
};

}  // namespace thalweg
