// Who averages with whom in asynchronous decentralised training, without a word of I/O: X. Lian et al.,
// "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML 2018, section 4.
//
// Shards of even numbers ask, those of odd ones are asked; edges between two of one kind are left out. Where
// what is left is not connected, the distance from shard 0 counts instead, and what is left is. One that asks
// waits for one answer at a time; one that is asked answers at once and waits for nobody until its own pass
// ends. So none waits for one that waits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"

namespace thalweg {

// One shard's part.
class Pairing {
 public:
  // `mixing`: shards * shards weights of a connected graph; an edge is where they are above 0.
  Pairing(std::span<const double> mixing, std::uint32_t shards, std::uint32_t self, std::uint64_t seed);

  bool asks() const { return asks_; }
  std::span<const std::uint32_t> partners() const { return partners_; }
  void begin_pass();
  // Of one that asks and waits for no answer: whom it asks now.
  std::uint32_t ask();
  void answered() { asked_.reset(); }
  std::optional<std::uint32_t> waits_for() const { return asked_; }
  // Of one that is asked: that partner asks no more in this pass.
  void ended();
  // Whether the pass may end, once the shard has no more steps.
  bool over() const { return asks_ ? !asked_ : asking_ == 0; }

 private:
  bool asks_ = true;
  std::vector<std::uint32_t> partners_;
  std::optional<std::uint32_t> asked_;
  std::size_t asking_ = 0;  // Partners that may ask yet.
  Random random_;
};

// Both become their mean: `mine` at once; `theirs` holds then what the one that asked takes off its rows.
void meet(std::span<float> mine, std::span<float> theirs);

}  // namespace thalweg
