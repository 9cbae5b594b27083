#include "train/algorithm/rudra_numbers.h"

namespace thalweg {
namespace {

// As rudra-adv, where x comes down the tree as well: worker i keeps the newest version that worker (i - 1) /
// K had, and a gradient is at the newest that its worker had when the step began.

constexpr AlgorithmNumber kAdvStarNumbers[] = {kRudraUpdates,
                                               rudra_tree("workers that send to one, and get rows from it")};

}  // namespace

extern constinit const Algorithm kRudraAdvStarAlgorithm = {
    .name = "rudra-adv*",
    .summary = "as rudra-adv, and the newest rows come down the same tree while shards compute",
    .result = "depends on timing; a sum is divided by the staleness of what is oldest in it",
    .paper =
        "Gupta, Zhang, Wang, Model accuracy and runtime tradeoff in distributed deep learning, ICDM 2016, "
        "section 3, Rudra-adv*",
    .numbers = kAdvStarNumbers,
    .one_server = true,
    .sparse = false,
    .consistency = [](const AlgorithmValues& values) { return Consistency::free_softsync(values.whole()); },
    .combining =
        [](const AlgorithmValues& values) { return Combining::tree_both_ways(values.whole("tree")); },
};

}  // namespace thalweg
