#include "train/algorithm/rudra_numbers.h"

namespace thalweg {
namespace {

// x <- x - rate / c * sum over c pushes of g / max(1, t), as softsync has it, where x is the whole model,
// because one server has it.

constexpr AlgorithmNumber kRudraNumber[] = {kRudraUpdates};

}  // namespace

extern constinit const Algorithm kRudraAlgorithm = {
    .name = "rudra",
    .summary = "softsync:N by one server, to which each shard talks by itself",
    .result = "depends on timing; a push is about N updates behind",
    .paper =
        "Gupta, Zhang, Wang, Model accuracy and runtime tradeoff in distributed deep learning, ICDM 2016, "
        "section 3, Rudra-base",
    .numbers = kRudraNumber,
    .one_server = true,
    .consistency = [](const AlgorithmValues& values) { return Consistency::softsync(values.whole()); },
};

}  // namespace thalweg
