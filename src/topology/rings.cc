#include "topology/rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace thalweg {
namespace {

constexpr std::size_t kCyclesMax = 4096;
constexpr std::uint32_t kRingsMax = 4;
constexpr std::uint64_t kStepsMax = 4'000'000;  // Of either search.

// A ring as its edges, which is what capacities are about.
struct Cycle {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> edges;
};

class CycleSearch {
 public:
  CycleSearch(std::uint32_t nodes, const std::vector<CapacityEdge>& edges)
      : nodes_(nodes), edge_(nodes, std::vector<std::uint32_t>(nodes, kNone)), used_(nodes, false) {
    for (std::uint32_t i = 0; i < edges.size(); ++i) {
      edge_[edges[i].a][edges[i].b] = edge_[edges[i].b][edges[i].a] = i;
    }
  }

  std::vector<Cycle> all() {
    order_.assign(1, 0);
    used_[0] = true;
    extend();
    return std::move(found_);
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  // Of a ring's two directions the one whose second node is less than its last.
  void extend() {
    if (found_.size() == kCyclesMax || ++steps_ > kStepsMax) return;
    if (order_.size() == nodes_) {
      const bool closes = edge_[order_.back()][0] != kNone;
      if (closes && (nodes_ == 2 || order_[1] < order_.back())) add();
      return;
    }
    for (std::uint32_t next = 1; next < nodes_; ++next) {
      if (used_[next] || edge_[order_.back()][next] == kNone) continue;
      used_[next] = true;
      order_.push_back(next);
      extend();
      order_.pop_back();
      used_[next] = false;
    }
  }

  void add() {
    Cycle cycle{order_, {}};
    const std::uint32_t count = nodes_ == 2 ? 1 : nodes_;
    for (std::uint32_t i = 0; i < count; ++i) {
      cycle.edges.push_back(edge_[order_[i]][order_[(i + 1) % nodes_]]);
    }
    found_.push_back(std::move(cycle));
  }

  std::uint32_t nodes_;
  std::vector<std::vector<std::uint32_t>> edge_;
  std::vector<bool> used_;
  std::vector<std::uint32_t> order_;
  std::vector<Cycle> found_;
  std::uint64_t steps_ = 0;
};

// Takes rings one after another, each with all that its narrowest edge has left.
class RingChoice {
 public:
  RingChoice(const std::vector<Cycle>& cycles, std::vector<double> left, double bound)
      : cycles_(cycles), left_(std::move(left)), bound_(bound) {}

  // The best with at most `rings` rings.
  void search(std::uint32_t rings) {
    steps_ = 0;
    take(rings, 0);
  }
  bool reached_bound() const { return best_weight_ >= bound_ * (1 - 1e-9); }
  const std::vector<std::pair<std::size_t, double>>& best() const { return best_; }

 private:
  void take(std::uint32_t rings, double weight) {
    if (weight > best_weight_ * (1 + 1e-9)) {
      best_weight_ = weight;
      best_ = chosen_;
    }
    if (rings == 0) return;
    for (std::size_t i = 0; i < cycles_.size() && !reached_bound() && ++steps_ < kStepsMax; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (const std::uint32_t edge : cycles_[i].edges) least = std::min(least, left_[edge]);
      // Rings are taken in order of their weights, so the rest cannot weigh more than so many of this one.
      if (!(least > 0) || (!chosen_.empty() && least > chosen_.back().second)) continue;
      if (weight + rings * least <= best_weight_ * (1 + 1e-9)) continue;
      for (const std::uint32_t edge : cycles_[i].edges) left_[edge] -= least;
      chosen_.emplace_back(i, least);
      take(rings - 1, weight + least);
      chosen_.pop_back();
      for (const std::uint32_t edge : cycles_[i].edges) left_[edge] += least;
    }
  }

  const std::vector<Cycle>& cycles_;
  std::vector<double> left_;
  double bound_;
  std::vector<std::pair<std::size_t, double>> chosen_;
  std::vector<std::pair<std::size_t, double>> best_;
  double best_weight_ = 0;
  std::uint64_t steps_ = 0;
};

// A ring takes twice its weight of what joins a node to others.
double degree_bound(std::uint32_t nodes, const std::vector<CapacityEdge>& edges) {
  std::vector<double> sum(nodes, 0);
  for (const CapacityEdge& edge : edges) {
    sum[edge.a] += edge.capacity;
    sum[edge.b] += edge.capacity;
  }
  return *std::min_element(sum.begin(), sum.end()) / (nodes == 2 ? 1 : 2);
}

}  // namespace

Result<std::vector<WeightedRing>> find_rings(std::uint32_t nodes, const std::vector<CapacityEdge>& edges) {
  const auto no_ring = [&] {
    return Status(
        Code::kUsage,
        fmt::format("no ring: expected direct cables that lead through all {} ranks and back, of which "
                    "there must be two or more",
                    nodes));
  };
  std::vector<double> capacities;
  for (const CapacityEdge& edge : edges) {
    if (edge.a >= nodes || edge.b >= nodes || edge.a == edge.b) return no_ring();
    capacities.push_back(edge.capacity);
  }
  if (nodes < 2) return no_ring();
  const std::vector<Cycle> cycles = CycleSearch(nodes, edges).all();
  RingChoice choice(cycles, capacities, degree_bound(nodes, edges));
  for (std::uint32_t rings = 1; rings <= kRingsMax && !choice.reached_bound(); ++rings) choice.search(rings);
  std::vector<WeightedRing> rings;
  for (const auto& [cycle, weight] : choice.best()) rings.push_back({cycles[cycle].order, weight});
  if (rings.empty()) return no_ring();
  return rings;
}

}  // namespace thalweg
