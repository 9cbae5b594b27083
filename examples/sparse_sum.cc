// Gradients of an embedding of which each rank's batch touches a few rows: all ranks get the union of the
// rows with their sums, by one call. Alone it runs three threads; under `thalweg run` each process is a rank.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "thalweg/group.h"

using namespace thalweg;

constexpr std::size_t kDim = 16, kTouched = 3000, kVocabulary = 50'000;

// Rows that a rank's batch touches, the frequent ones at every rank.
std::vector<std::uint64_t> touched_by(std::uint32_t rank) {
  std::mt19937 random(rank + 1);
  std::vector<std::uint64_t> rows;
  for (std::size_t i = 0; i < kTouched; ++i) rows.push_back(random() % (i % 2 == 0 ? 1000 : kVocabulary));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Whether every row is what it must be.
bool sum_gradients(Group& group) {
  const std::vector<std::uint64_t> keys = touched_by(group.rank());
  const std::vector<float> gradients(keys.size() * kDim, 1.0F + static_cast<float>(group.rank()));
  SparseRows sum;
  if (Status status = group.all_reduce_sparse(keys, gradients, kDim, sum); !status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), false;

  std::vector<float> expected(kVocabulary);
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    for (const std::uint64_t key : touched_by(rank)) expected[key] += 1.0F + static_cast<float>(rank);
  }
  bool right = sum.rows.size() == sum.keys.size() * kDim;
  for (std::size_t i = 0; right && i < sum.rows.size(); ++i)
    right = sum.rows[i] == expected[sum.keys[i / kDim]];
  if (group.rank() == 0) {
    std::printf("%zu rows here, %zu in all; rank 0 sent %.2f MB, the dense vector has %.2f MB\n", keys.size(),
                sum.keys.size(), static_cast<double>(group.bytes_sent()) / 1e6,
                static_cast<double>(kVocabulary * kDim * sizeof(float)) / 1e6);
  }
  return right;
}

int main() {
  const auto options = group_options_from(std::getenv);
  if (!options) return std::fprintf(stderr, "%s\n", options.status().message().c_str()), 1;
  if (options->size > 1) {
    auto group = Group::join(*options);
    if (!group) return std::fprintf(stderr, "%s\n", group.status().message().c_str()), 1;
    return sum_gradients(*group) ? 0 : 1;
  }
  std::vector<Group> groups = Group::in_process(3);
  std::vector<int> right(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    threads.emplace_back([&, rank] { right[rank] = sum_gradients(groups[rank]); });
  for (std::thread& thread : threads) thread.join();
  return std::count(right.begin(), right.end(), 1) == 3 ? 0 : 1;
}
