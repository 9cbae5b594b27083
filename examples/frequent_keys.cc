// The most frequent keys of streams that no rank sees all of, in fixed space: each counts its own in a
// sketch, the sketches add up, and of each rank's most frequent keys the most frequent of all remain.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "thalweg/count_min.h"
#include "thalweg/group.h"
#include "thalweg/top_k.h"

using namespace thalweg;

constexpr std::uint32_t kRanks = 3, kKeys = 5000, kTop = 10;

// Of one rank; low keys are frequent.
std::vector<std::uint32_t> stream_of(std::uint32_t rank) {
  std::mt19937 random(rank + 1);
  std::vector<std::uint32_t> keys;
  for (int i = 0; i < 40'000; ++i) {
    const double share = static_cast<double>(random()) / 4294967296.0;
    keys.push_back(static_cast<std::uint32_t>(kKeys * std::pow(share, 6)));
  }
  return keys;
}

Status count(Group& group, std::vector<TopKPair>& most) {
  CountMin sketch(5, 4096, 1);
  const std::vector<std::uint32_t> stream = stream_of(group.rank());
  for (const std::uint32_t key : stream) sketch.add(key);
  if (Status status = group.all_reduce(sketch.counters()); !status.ok()) return status;
  std::vector<float> times(kKeys);  // Of the keys that came up here, in all streams.
  for (const std::uint32_t key : stream) times[key] = static_cast<float>(sketch.estimate(key));
  most = top_pairs(times, kTop);
  return all_reduce_top_k(group, most, TopK::Same::kGreater);
}

int main() {
  std::vector<Group> groups = Group::in_process(kRanks);
  std::vector<std::vector<TopKPair>> most(kRanks);
  std::vector<Status> ended(kRanks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { ended[rank] = count(groups[rank], most[rank]); });
  for (std::thread& thread : threads) thread.join();

  std::vector<float> truth(kKeys);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    if (!ended[rank].ok()) return std::fprintf(stderr, "%s\n", ended[rank].message().c_str()), 1;
    for (const std::uint32_t key : stream_of(rank)) truth[key] += 1;
  }
  bool same = true;
  const std::vector<TopKPair> expected = top_pairs(truth, kTop);
  for (std::uint32_t i = 0; i < kTop; ++i) {
    for (const auto& found : most) same = same && found[i].index == expected[i].index;
    std::printf("key %u: at most %.0f times, in truth %.0f\n", most[0][i].index,
                static_cast<double>(most[0][i].value), static_cast<double>(truth[most[0][i].index]));
    same = same && most[0][i].value >= truth[most[0][i].index];
  }
  return same ? 0 : 1;
}
