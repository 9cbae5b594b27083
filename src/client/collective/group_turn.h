// What the ranks of a group store tell each other before they go on, and what follows from it on every rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// Where one rank progress.
struct RankProgress {
  enum class Wish : std::uint8_t {
    kSee,      // All steps before its own.
    kAdvance,  // The end of its step.
    kBarrier,
    kFailed,
  };
  Wish wish = Wish::kSee;
  Step step;
  BarrierId barrier;  // With kBarrier.

  static constexpr std::size_t kWords = 3;
  void write(std::uint64_t* words) const;
  static RankProgress read(const std::uint64_t* words);
  bool operator==(const RankProgress&) const = default;
};

struct GroupTurn {
  Status status;         // kUsage: they wait for each other. kAborted: one has failed.
  bool applies = false;  // The pushes of step `lowest` are applied now.
  Step lowest;           // Of all ranks, before that.
  bool done = false;     // This rank's wish is fulfilled.
  Step lowest_after;     // Of all ranks, once those whose wish it was have advanced.
};

// What the ranks' progress comes to for rank `me`. Pure, so that all ranks come to the same.
GroupTurn decide_turn(std::span<const RankProgress> progress, std::uint32_t me);

}  // namespace thalweg
