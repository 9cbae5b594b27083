// Which requests by an old map are answered. A worker sends all that it has under way anew once it has a
// newer map, and needs one word to ask for it: a slow one that reads as many as it has requests is late for
// the next map too.
#pragma once

#include <cstdint>
#include <map>

#include "base/instant.h"
#include "thalweg/ids.h"

namespace thalweg::cluster {

class StaleNotices {
 public:
  // Whether `node`, which asks by an old map, is told so now: the first time by each map, and again where it
  // goes on for so long that the word may be lost.
  bool is_due(Instant now, NodeId node, std::uint32_t map_epoch);

 private:
  struct Notice {
    std::uint32_t map_epoch = 0;
    Instant again_at{};
  };
  std::map<NodeId, Notice> told_;
};

}  // namespace thalweg::cluster
