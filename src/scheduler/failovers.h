// Servers that were lost while others had copies of their key ranges: how soon that was noticed, and how soon
// those others had all said that they go on without them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/instant.h"
#include "thalweg/job_status.h"

namespace thalweg {

class Failovers {
 public:
  // `server`, last heard at `heard`, is in the map no more as of `epoch`. `others` shared ranges with it, and
  // are to say that they act by that map. Of those whose word an earlier loss awaits, `server` gives none.
  void begin(Instant now, std::uint32_t server, Instant heard, std::uint32_t epoch,
             std::set<std::uint32_t> others);
  struct Recovered {
    std::uint32_t server = 0;
    Duration after{};
    std::set<std::uint32_t> others;
  };
  // `server` acts by the map of `epoch`. The losses of which that was the last word awaited.
  std::vector<Recovered> on_acting(Instant now, std::uint32_t server, std::uint32_t epoch);
  // What another scheduler is to know; times since a loss are told from `now` on where it was open then.
  void put(Writer& to) const;
  static Failovers get(Instant now, Reader& from);
  // In the order of their losses; the newest limits::kNodesMax.
  std::vector<ServerFailover> told() const;

 private:
  struct Loss {
    ServerFailover told;
    Instant lost;
    std::uint32_t epoch = 0;  // Of the map that the awaited ones are to act by.
    std::set<std::uint32_t> others, awaited;
  };
  std::deque<Loss> losses_;
};

}  // namespace thalweg
