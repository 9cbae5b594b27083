// Ranks with pipelines in simulated time: control links that delay and split, and one network that exchanges
// one operation after the other.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "exchange/pipeline/pipeline.h"

namespace thalweg {

class PipelineWorld {
 public:
  struct Settings {
    std::uint32_t ranks = 2;
    std::vector<GradientSpec> tensors;
    GradientOptions options;
    std::uint64_t seed = 1;
    Duration delay_max{0};      // Of a control record; each write draws its own.
    bool split = false;         // Control links take and show random parts.
    double ns_per_byte = 0;     // Of an exchange.
    Duration per_operation{0};  // Of an exchange, whatever its size.
  };

  using TensorsOf = std::function<std::vector<GradientSpec>(std::uint32_t rank)>;
  // `tensors_of`: what each rank believes; else settings.tensors.
  explicit PipelineWorld(Settings settings, const TensorsOf& tensors_of = {})
      : settings_(std::move(settings)), random_(settings_.seed) {
    for (std::uint32_t r = 0; r < settings_.ranks; ++r) {
      ranks_.push_back(std::make_unique<Rank>(*this, r, tensors_of ? tensors_of(r) : settings_.tensors));
      ranks_.back()->values.resize(ranks_.back()->pipeline.layout().elements());
    }
  }

  Random& random() { return random_; }
  Instant now() const { return now_; }
  Pipeline& pipeline(std::uint32_t rank) { return ranks_[rank]->pipeline; }
  // The rank's gradient of one tensor.
  std::span<float> tensor(std::uint32_t rank, std::uint32_t number) {
    const Block block = pipeline(rank).block(number);
    return std::span<float>(ranks_[rank]->values).subspan(block.begin, block.count);
  }
  const std::vector<Block>& begun(std::uint32_t rank) const { return ranks_[rank]->begun; }

  void at(Instant when, std::function<void()> what) { events_.emplace(when, std::move(what)); }
  void announce(std::uint32_t rank, std::uint32_t number) {
    const Status status = pipeline(rank).announce(number, now_);
    if (!status.ok() && announce_error_.ok()) announce_error_ = status;
    pump(rank);
  }
  void set_dead(std::uint32_t rank) { ranks_[rank]->dead = true; }
  // Called whenever a rank's pipeline has changed.
  std::function<void(std::uint32_t rank)> on_change;
  const Status& announce_error() const { return announce_error_; }

  void pump(std::uint32_t rank) {
    Rank& self = *ranks_[rank];
    if (self.dead) return;
    self.pipeline.advance(self.links, now_);
    bool begun = false;
    while (const auto piece = self.pipeline.start()) {
      self.begun.push_back(*piece);
      begun = true;
    }
    if (begun) self.pipeline.advance(self.links, now_);
    const Instant deadline = self.pipeline.next_deadline();
    if (deadline != self.deadline && deadline != kNever) at(deadline, [this, rank] { pump(rank); });
    self.deadline = deadline;
    begin_operation();
    if (on_change) on_change(rank);
  }
  // Until nothing is left to happen but deadlines after `until`.
  void run(Instant until = kNever) {
    while (!events_.empty() && events_.begin()->first <= until) {
      auto event = events_.extract(events_.begin());
      now_ = std::max(now_, event.key());
      event.mapped()();
    }
  }

 private:
  struct Chunk {
    Instant arrives;
    std::byte value;
  };
  class Links final : public Fabric {
   public:
    Links(PipelineWorld& world, std::uint32_t rank) : world_(world), rank_(rank) {}
    std::size_t write(Link to, std::span<const Piece> pieces) override {
      std::size_t total = 0;
      for (const Piece& piece : pieces) {
        const std::size_t taken = world_.some(piece.size);
        world_.send(rank_, to.peer, {piece.data, taken});
        total += taken;
        if (taken < piece.size) {
          world_.pump_later(rank_);
          break;
        }
      }
      return total;
    }
    Piece peek(Link, std::size_t) override { return {}; }
    void consume(Link, std::size_t) override {}
    std::size_t read(Link from, std::byte* into, std::size_t size) override {
      auto& stream = world_.streams_[{from.peer, rank_}];
      std::size_t ready = 0;
      while (ready < std::min(size, stream.size()) && stream[ready].arrives <= world_.now_) ++ready;
      const std::size_t got = world_.some(ready);
      for (std::size_t i = 0; i < got; ++i) into[i] = stream[i].value;
      stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(got));
      if (got < ready) world_.pump_later(rank_);
      return got;
    }

   private:
    PipelineWorld& world_;
    std::uint32_t rank_;
  };
  struct Rank {
    Rank(PipelineWorld& world, std::uint32_t rank, std::vector<GradientSpec> tensors)
        : pipeline(std::move(tensors), world.settings_.options, rank, world.settings_.ranks, 0),
          links(world, rank) {}
    Pipeline pipeline;
    Links links;
    std::vector<float> values;
    std::vector<Block> begun;
    Instant deadline = kNever;
    bool dead = false;
  };

  std::size_t some(std::size_t most) {
    return settings_.split && most > 0 ? static_cast<std::size_t>(random_.below(most + 1)) : most;
  }
  void send(std::uint32_t from, std::uint32_t to, std::span<const std::byte> bytes) {
    auto& stream = streams_[{from, to}];
    Instant arrives = now_ + Duration(static_cast<std::int64_t>(
                                 random_.below(static_cast<std::uint64_t>(settings_.delay_max.count()) + 1)));
    if (!stream.empty()) arrives = std::max(arrives, stream.back().arrives);
    for (const std::byte value : bytes) stream.push_back({arrives, value});
    at(arrives, [this, to] { pump(to); });
  }
  void pump_later(std::uint32_t rank) {
    at(now_ + Duration(1), [this, rank] { pump(rank); });
  }
  // The network takes the next operation once every rank has begun it, and the one before has ended.
  void begin_operation() {
    const auto has = [this](const auto& rank) { return rank->begun.size() > operations_; };
    if (busy_ || !std::all_of(ranks_.begin(), ranks_.end(), has)) return;
    busy_ = true;
    const Block piece = ranks_[0]->begun[operations_];
    for (const auto& rank : ranks_)
      THALWEG_CHECK(rank->begun[operations_] == piece, "ranks exchange different pieces");
    const double cost = static_cast<double>(piece.count * sizeof(float)) * settings_.ns_per_byte;
    at(now_ + settings_.per_operation + Duration(static_cast<std::int64_t>(cost)),
       [this, piece] { end(piece); });
  }
  void end(Block piece) {
    for (std::uint64_t i = piece.begin; i < piece.end(); ++i) {
      float sum = 0;
      for (const auto& rank : ranks_) sum += rank->values[i];
      for (const auto& rank : ranks_) rank->values[i] = sum;
    }
    busy_ = false;
    ++operations_;
    std::vector<std::uint32_t> done;
    for (const auto& rank : ranks_) rank->pipeline.finish(piece, done);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) pump(r);
  }

  Settings settings_;
  Random random_;
  Instant now_;
  std::multimap<Instant, std::function<void()>> events_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Chunk>> streams_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::size_t operations_ = 0;  // Ended.
  bool busy_ = false;
  Status announce_error_;
};

}  // namespace thalweg
