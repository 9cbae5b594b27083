// The same sum each step, on buffers that stay: planned and checked once.
#include <cstdio>
#include <thread>
#include <vector>

#include "thalweg/group.h"

using namespace thalweg;

constexpr int kSteps = 1000;

Status train(Group& group, std::vector<float>& gradient) {
  auto sum = group.prepare(
      Group::typed<float>(Operation::kAllReduce, gradient.data(), gradient.data(), gradient.size()));
  if (!sum) return sum.status();
  for (int step = 0; step < kSteps; ++step) {
    gradient.assign(gradient.size(), 0.25F);  // What this rank computes.
    if (Status status = sum->run(); !status.ok()) return status;
  }
  return {};
}

int main() {
  std::vector<Group> groups = Group::in_process(4);
  std::vector<std::vector<float>> gradients(groups.size(), std::vector<float>(16));
  std::vector<Status> ended(groups.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    threads.emplace_back([&, rank] { ended[rank] = train(groups[rank], gradients[rank]); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    if (!ended[rank].ok()) return std::fprintf(stderr, "%s\n", ended[rank].message().c_str()), 1;
    if (gradients[rank] != std::vector<float>(16, 1.0F)) return 1;
  }
  std::printf("%d steps, each sum %.0f\n", kSteps, static_cast<double>(gradients[0][0]));
  return 0;
}
