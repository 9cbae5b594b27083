#include "base/limits.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

constexpr AlgorithmNumber kRudraNumber[] = {{
    .placeholder = "N",
    .low = 1,
    .high = limits::kShardsMax,
    .fallback = 1,
    .summary = "updates that are made of as many pushes as there are shards",
}};

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
