#include "train/algorithm/pairing.h"

#include <algorithm>

#include "base/check.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kUnseen = ~std::uint32_t{0};

// How far each shard is from shard 0 along edges that `joins` takes; kUnseen where there is no way.
template <class Joins>
std::vector<std::uint32_t> distances(std::uint32_t shards, const Joins& joins) {
  std::vector<std::uint32_t> away(shards, kUnseen), reached = {0};
  away[0] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t from = reached[i];
    for (std::uint32_t to = 0; to < shards; ++to) {
      if (away[to] != kUnseen || !joins(from, to)) continue;
      away[to] = away[from] + 1;
      reached.push_back(to);
    }
  }
  return away;
}

}  // namespace

Pairing::Pairing(std::span<const double> mixing, std::uint32_t shards, std::uint32_t self, std::uint64_t seed)
    : random_(Random(seed).split(self)) {
  const auto edge = [&](std::uint32_t a, std::uint32_t b) { return mixing[std::size_t{a} * shards + b] > 0; };
  const auto by_turns = [&](std::uint32_t a, std::uint32_t b) { return edge(a, b) && a % 2 != b % 2; };
  std::vector<std::uint32_t> away = distances(shards, by_turns);
  if (std::find(away.begin(), away.end(), kUnseen) != away.end()) away = distances(shards, edge);
  THALWEG_CHECK(std::find(away.begin(), away.end(), kUnseen) == away.end(), "the graph is connected");
  asks_ = away[self] % 2 == 0;
  for (std::uint32_t other = 0; other < shards; ++other) {
    if (edge(self, other) && away[other] % 2 != away[self] % 2) partners_.push_back(other);
  }
}

void Pairing::begin_pass() {
  asked_.reset();
  asking_ = partners_.size();
}

std::uint32_t Pairing::ask() {
  THALWEG_CHECK(asks_ && !asked_ && !partners_.empty(), "one answer is waited for at a time");
  asked_ = partners_[random_.below(partners_.size())];
  return *asked_;
}

void Pairing::ended() {
  THALWEG_CHECK(!asks_ && asking_ > 0, "a partner ends a pass once");
  --asking_;
}

void meet(std::span<float> mine, std::span<float> theirs) {
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const float half = (theirs[i] - mine[i]) / 2;
    mine[i] += half;
    theirs[i] = half;
  }
}

}  // namespace thalweg
