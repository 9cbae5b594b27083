#include "topology/network/max_min.h"

#include <algorithm>
#include <utility>

namespace thalweg {

void MaxMin::clear() {
  for (const std::uint32_t capacity : used_) numbers_[capacity] = 0;
  used_.clear();
  capacities_.clear();
  uses_.clear();
  uses_begin_ = {0};
}

std::uint32_t MaxMin::local(std::uint32_t capacity) {
  if (capacity >= numbers_.size()) numbers_.resize(capacity + 1);
  if (numbers_[capacity] == 0) {
    used_.push_back(capacity);
    capacities_.emplace_back();
    numbers_[capacity] = static_cast<std::uint32_t>(used_.size());
  }
  return numbers_[capacity] - 1;
}

void MaxMin::add(std::span<const Use> uses) {
  for (const Use& use : uses) {
    uses_.push_back({local(use.capacity), use.seconds});
    Capacity& capacity = capacities_[uses_.back().capacity];
    capacity.wanted += use.seconds;
    ++capacity.growing;
  }
  uses_begin_.push_back(static_cast<std::uint32_t>(uses_.size()));
}

void MaxMin::index_flows() {
  std::uint32_t begin = 0;
  for (Capacity& capacity : capacities_) {
    capacity.flows_begin = capacity.flows_end = begin;
    begin += capacity.growing;
  }
  flows_at_.resize(begin);
  for (std::uint32_t flow = 0; flow + 1 < uses_begin_.size(); ++flow) {
    for (std::uint32_t i = uses_begin_[flow]; i < uses_begin_[flow + 1]; ++i) {
      flows_at_[capacities_[uses_[i].capacity].flows_end++] = flow;
    }
  }
}

void MaxMin::end_growth(std::uint32_t flow, double pace) {
  paces_[flow] = pace;
  for (std::uint32_t i = uses_begin_[flow]; i < uses_begin_[flow + 1]; ++i) {
    Capacity& capacity = capacities_[uses_[i].capacity];
    capacity.left -= uses_[i].seconds / pace;
    capacity.wanted -= uses_[i].seconds;
    --capacity.growing;
  }
}

const std::vector<double>& MaxMin::solve() {
  index_flows();
  paces_.assign(uses_begin_.size() - 1, 0);
  using Next = std::pair<double, std::uint32_t>;  // A capacity that is used up at that pace.
  const auto later = [](const Next& a, const Next& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  std::vector<Next> heap;
  for (std::uint32_t i = 0; i < capacities_.size(); ++i) heap.emplace_back(capacities_[i].pace(), i);
  std::make_heap(heap.begin(), heap.end(), later);
  double pace = heap.empty() ? 0 : heap.front().first;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const auto [noted, number] = heap.back();
    heap.pop_back();
    const Capacity& capacity = capacities_[number];
    if (capacity.growing == 0) continue;
    // Rates only grow, so that what others have left makes it last longer than was noted.
    if (capacity.left > 0 && capacity.pace() < noted) {
      heap.emplace_back(capacity.pace(), number);
      std::push_heap(heap.begin(), heap.end(), later);
      continue;
    }
    pace = std::min(pace, noted);
    for (std::uint32_t i = capacity.flows_begin; i < capacity.flows_end; ++i) {
      if (paces_[flows_at_[i]] == 0) end_growth(flows_at_[i], pace);
    }
  }
  return paces_;
}

}  // namespace thalweg
