// A training step whose exchanges go on side by side: the dense gradient's mean, weighted by each rank's
// rows, and the embedding's sparse sum are started, and a coroutine awaits both.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "thalweg/group.h"

using namespace thalweg;

constexpr std::uint32_t kRanks = 3;

struct Step {
  std::vector<float> dense;
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;  // Two floats a key.
  double examples = 0;
  SparseRows sum;
};

Task<Status> exchange(Group& group, Step& step) {
  GroupWork sparse = group.all_reduce_sparse_async(step.keys, step.rows, 2, step.sum);
  GroupWork mean = group.weighted_mean_async<float>(step.dense, step.dense, step.examples);
  Status status = co_await mean;
  if (status.ok()) status = co_await sparse;
  co_return status;
}

int main() {
  std::vector<Group> groups = Group::in_process(kRanks);
  std::vector<Step> steps(kRanks);
  std::vector<Status> ended(kRanks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    steps[rank] = {
        {1.0F * static_cast<float>(rank)}, {7, 100 + std::uint64_t{rank}}, {1, 2, 3, 4}, 1.0 + rank, {}};
    threads.emplace_back([&, rank] { ended[rank] = groups[rank].run(exchange(groups[rank], steps[rank])); });
  }
  for (std::thread& thread : threads) thread.join();

  bool right = true;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    if (!ended[rank].ok()) return std::fprintf(stderr, "%s\n", ended[rank].message().c_str()), 1;
    right = right && steps[rank].sum.keys.size() == kRanks + 1 && steps[rank].sum.rows[1] == 2.0F * kRanks;
    right = right && steps[rank].dense == steps[0].dense;
  }
  std::printf("mean %.4f; %zu keys, that of all with %.0f %.0f\n", static_cast<double>(steps[0].dense[0]),
              steps[0].sum.keys.size(), static_cast<double>(steps[0].sum.rows[0]),
              static_cast<double>(steps[0].sum.rows[1]));
  return right ? 0 : 1;  // (0 * 1 + 1 * 2 + 2 * 3) / 6.
}
