// Ranks that train on a simulated network: backward passes that take time, and the production pipeline and
// exchange that bring their gradients together, all in virtual time.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "exchange/pipeline/pipeline.h"
#include "exchange/plan/simulated_group.h"
#include "topology/network/fifo_network.h"
#include "topology/topology.h"

namespace thalweg {

class Training {
 public:
  // `route` is every exchange's. Control records and exchanges share the links. `phantom`: gradients are
  // sizes.
  Training(const Topology& room, std::uint32_t ranks, std::vector<GradientSpec> tensors,
           const GradientOptions& options, Plan route, bool phantom = false)
      : network_(room),
        endpoints_(all_of(ranks)),
        group_(network_, endpoints_),
        plan_(std::move(route)),
        phantom_(phantom) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      ranks_.push_back(std::make_unique<Rank>(tensors, options, r, ranks));
      if (!phantom) ranks_.back()->values.resize(ranks_.back()->pipeline.layout().elements());
    }
  }

  Pipeline& pipeline(std::uint32_t rank) { return ranks_[rank]->pipeline; }
  std::span<float> tensor(std::uint32_t rank, std::uint32_t number) {
    const Block block = pipeline(rank).block(number);
    return std::span<float>(ranks_[rank]->values).subspan(block.begin, block.count);
  }
  // The pieces of the flat vector in the order in which the rank exchanged them.
  const std::vector<Block>& begun(std::uint32_t rank) const { return ranks_[rank]->begun; }
  Picoseconds now() const { return network_.now(); }

  void at(Picoseconds when, std::uint32_t rank, std::function<void()> what) {
    ranks_[rank]->due.emplace(when, std::move(what));
    group_.alarm(rank, when);
  }
  // Until nothing is left to happen before `end`, the deadlines of stalled gradients aside. Returns when the
  // last exchange ended.
  Picoseconds run(Picoseconds end) {
    for (std::uint32_t rank = 0; network_.now() < end && group_.next(rank);) {
      Rank& self = *ranks_[rank];
      while (!self.due.empty() && self.due.begin()->first <= network_.now()) {
        auto due = self.due.extract(self.due.begin());
        due.mapped()();
      }
      pump(rank);
    }
    return ended_;
  }
  Status announce(std::uint32_t rank, std::uint32_t number) {
    return pipeline(rank).announce(number, instant());
  }

 private:
  static constexpr std::uint16_t kControlChannel = 0;
  struct Running {
    Block piece;
    std::unique_ptr<Exchange> exchange;
  };
  struct Rank {
    Rank(const std::vector<GradientSpec>& tensors, const GradientOptions& options, std::uint32_t rank,
         std::uint32_t ranks)
        : pipeline(tensors, options, rank, ranks, kControlChannel) {}
    Pipeline pipeline;
    std::vector<float> values;
    std::vector<Block> begun;
    std::deque<Running> running;
    std::multimap<Picoseconds, std::function<void()>> due;
  };

  static std::vector<std::uint32_t> all_of(std::uint32_t ranks) {
    std::vector<std::uint32_t> all(ranks);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  Instant instant() const { return Instant{} + Duration(static_cast<std::int64_t>(network_.now() / 1000)); }

  void pump(std::uint32_t rank) {
    Rank& self = *ranks_[rank];
    for (bool again = true; again;) {
      again = false;
      self.pipeline.advance(group_.fabric(rank), instant());
      while (const auto piece = self.pipeline.start()) {
        begin(rank, *piece);
        again = true;
      }
      // One after the other, as on one channel.
      while (!self.running.empty() && self.running.front().exchange->advance(group_.fabric(rank))) {
        std::vector<std::uint32_t> done;
        self.pipeline.finish(self.running.front().piece, done);
        self.running.pop_front();
        ended_ = network_.now();
        again = true;
      }
    }
  }
  void begin(std::uint32_t rank, Block piece) {
    Rank& self = *ranks_[rank];
    Call call;
    call.operation = Operation::kAllReduce;
    call.arithmetic = Arithmetic::of(DataType::kF32, Reduction::kSum);
    call.count = piece.count;
    call.phantom = phantom_;
    if (!phantom_) {
      const auto bytes = std::as_writable_bytes(std::span(self.values).subspan(piece.begin, piece.count));
      call.in = call.out = bytes.data();
    }
    const auto ranks = static_cast<std::uint32_t>(ranks_.size());
    self.running.push_back({piece, std::make_unique<Exchange>(std::move(call), plan_, rank, ranks,
                                                              self.begun.size(), kControlChannel + 1)});
    self.begun.push_back(piece);
  }

  FifoNetwork network_;
  std::vector<std::uint32_t> endpoints_;
  SimulatedGroup group_;
  const Plan plan_;
  const bool phantom_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  Picoseconds ended_ = 0;
};

}  // namespace thalweg
