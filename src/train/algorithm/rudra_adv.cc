#include "train/algorithm/rudra_numbers.h"

namespace thalweg {
namespace {

// As rudra, where worker i sends to worker (i - 1) / K the sum of its own pushes and of those that came from
// below, and worker 0 sends to the server: x <- x - rate / c * sum over sums of c gradients of sum / max(1,
// t), where t is the staleness of the oldest gradient in the sum.

constexpr AlgorithmNumber kAdvNumbers[] = {kRudraUpdates, rudra_tree("workers that send to one")};

}  // namespace

extern constinit const Algorithm kRudraAdvAlgorithm = {
    .name = "rudra-adv",
    .summary = "as rudra, and gradients are added up along a tree of workers on their way to the server",
    .result = "depends on timing; a sum is divided by the staleness of what is oldest in it",
    .paper =
        "Gupta, Zhang, Wang, Model accuracy and runtime tradeoff in distributed deep learning, ICDM 2016, "
        "section 3, Rudra-adv",
    .numbers = kAdvNumbers,
    .one_server = true,
    .consistency = [](const AlgorithmValues& values) { return Consistency::free_softsync(values.whole()); },
    .combining = [](const AlgorithmValues& values) { return Combining::tree(values.whole("tree")); },
};

}  // namespace thalweg
