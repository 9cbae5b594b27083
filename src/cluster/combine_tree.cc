#include "cluster/combine_tree.h"

namespace thalweg::cluster {

CombineTree::CombineTree(const wire::Map& map) {
  if (map.combine.kind == Combining::Kind::kNone) return;
  std::map<std::uint32_t, std::uint32_t> leads;  // By machine.
  for (std::size_t i = 0; i < map.workers.size(); ++i) {
    const wire::WorkerPlace& worker = map.workers[i];
    std::optional<std::uint32_t>& parent = parents_[worker.index];
    if (map.combine.is_tree()) {
      if (i > 0) parent = map.workers[(i - 1) / map.combine.arity].index;
      continue;
    }
    const auto [lead, first] = leads.try_emplace(worker.machine, worker.index);
    if (!first) parent = lead->second;
  }
}

std::optional<std::uint32_t> CombineTree::parent(std::uint32_t worker) const {
  const auto found = parents_.find(worker);
  return found == parents_.end() ? std::nullopt : found->second;
}

bool CombineTree::passes(std::uint32_t owner, std::uint32_t sender) const {
  for (std::optional<std::uint32_t> at = owner; at; at = parent(*at)) {
    if (*at == sender) return true;
  }
  return false;
}

std::vector<std::uint32_t> CombineTree::in_order() const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> children;
  std::vector<std::uint32_t> ahead, order;  // Ahead: the next one last.
  for (auto worker = parents_.rbegin(); worker != parents_.rend(); ++worker) {
    (worker->second ? children[*worker->second] : ahead).push_back(worker->first);
  }
  while (!ahead.empty()) {
    const std::uint32_t next = ahead.back();
    ahead.pop_back();
    order.push_back(next);
    const auto& below = children[next];
    ahead.insert(ahead.end(), below.begin(), below.end());
  }
  return order;
}

}  // namespace thalweg::cluster
