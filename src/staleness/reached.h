// How far one data shard has come at one server, or at all of them: for the shard's heir.
#pragma once

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

}  // namespace thalweg
