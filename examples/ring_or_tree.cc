// Ring against tree: the same sum by two routes, at two sizes. A tree takes fewer steps, a ring sends fewer
// bytes, so on a network the tree is for small vectors and the ring for large ones.
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/group.h"

using thalweg::Group;
using thalweg::RouteChoice;

// Seconds of one all-reduce by this route, or a negative number when it came out wrong.
static double measure(Group& group, const std::string& name, std::size_t count) {
  const auto route = RouteChoice::named(name, {.piece_bytes = 128 << 10, .channels = 1});
  if (!route) return -1;
  std::vector<float> data(count, 1);
  constexpr int kTimes = 20;
  if (!group.barrier().ok()) return -1;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) {
    if (!group.all_reduce(std::span(data), thalweg::Reduction::kMean, *route).ok()) return -1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return data.front() == 1 && data.back() == 1 ? took.count() / kTimes : -1;
}

int main() {
  constexpr unsigned kRanks = 4;
  std::vector<Group> groups = Group::in_process(kRanks);
  int wrong = 0;
  const auto work = [&wrong](Group group) {
    for (const std::size_t count : {std::size_t{64}, std::size_t{1} << 20}) {
      for (const char* route : {"ring", "tree:2"}) {
        const double seconds = measure(group, route, count);
        if (group.rank() != 0) continue;
        std::printf("%8zu floats by %-7s %10.1f us\n", count, route, seconds * 1e6);
        wrong += seconds < 0;
      }
    }
  };
  std::vector<std::thread> threads;
  for (Group& group : groups) threads.emplace_back(work, std::move(group));
  for (std::thread& thread : threads) thread.join();
  return wrong == 0 ? 0 : 1;
}
