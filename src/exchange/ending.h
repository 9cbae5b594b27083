// How an operation ends that the ranks of its group cannot bring to its end: the same rules for whoever
// drives an exchange.
#pragma once

#include <cstdint>

#include "exchange/exchange.h"
#include "node/fabric.h"
#include "thalweg/status.h"

namespace thalweg {

// What a rank knows of its group.
class GroupNews {
 public:
  virtual ~GroupNews() = default;
  // OK, or because of whom the group's operations cannot end.
  virtual Status verdict() = 0;
  // OK, or how the streams to that rank of the group were lost.
  virtual Status peer_status(std::uint32_t rank) = 0;
};

struct Advance {
  enum class How : std::uint8_t {
    kOver,   // The exchange is done.
    kWaits,  // For bytes or room.
    kLost,   // For ever, for `peer`, whose streams ended as `why` says, or as the verdict does.
  };
  How how = How::kWaits;
  std::uint32_t peer = 0;
  Status why{};
  bool by_verdict = false;
};

// Takes the exchange as far as it goes. A peer that was lost before has sent all that it ever will, so what
// still waits for it afterwards has failed.
Advance advance_among(Exchange& exchange, Fabric& fabric, GroupNews& news);
// Why the exchange did not come to its end, and where it stood.
Status ended_for(const Exchange& exchange, const Status& why);
// How it ended. Where this rank heard from nobody in it, that others cannot end it is news: links take what
// is sent long after nobody reads it. `sending`: also where it sent something.
Status outcome_of(const Exchange& exchange, GroupNews& news, bool sending);

}  // namespace thalweg
