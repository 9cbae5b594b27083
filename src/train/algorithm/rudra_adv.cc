#include "base/limits.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kAdvFanInMax = 4096;

constexpr AlgorithmNumber kAdvNumbers[] = {
    {.placeholder = "N",
     .low = 1,
     .high = limits::kShardsMax,
     .fallback = 1,
     .summary = "updates that are made of as many pushes as there are shards"},
    {.name = "tree",
     .placeholder = "K",
     .low = 1,
     .high = kAdvFanInMax,
     .fallback = 2,
     .summary = "workers that send to one"},
};

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
