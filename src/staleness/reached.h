// How far one data shard has come at one server, or at all of them: for the shard's heir.
#pragma once

#include <cstdint>
#include <span>

#include "thalweg/ids.h"

namespace thalweg {

struct Reached {
  Step low{~0u, 0};    // The earliest step that is not fully known.
  Step reach;          // One past the latest step of which anything is known.
  bool ended = false;  // That latest step was the last of its epoch.
  // Takes what another server, or another of its tables, knows.
  void add(const Reached& other);
  constexpr bool operator==(const Reached&) const = default;
};

// Of all shards, where each goes on from what servers had at moments of their own: the pass at whose end they
// meet next. Who is behind it has to meet the others there; 0 where there are no shards.
std::uint32_t first_open_pass(std::span<const Reached> shards);
// The same where all go on with one step: at the end of a pass they may have yet to meet.
constexpr std::uint32_t open_pass_of(Step step) {
  return step.index == 0 && step.epoch > 0 ? step.epoch - 1 : step.epoch;
}

}  // namespace thalweg
