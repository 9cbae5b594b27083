// A fabric of the real world, which its rank's driver can sleep on.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "node/fabric.h"
#include "node/rank_place.h"
#include "thalweg/status.h"

namespace thalweg {

// What a live fabric counts time in: the steady clock, from that clock's own beginning.
inline Instant live_now() {
  return {std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

class CallBoard;
class GroupControl;

class LiveFabric : public Fabric {
 public:
  // Returns when a link may have changed since the last wait, when woken, or at `until` (of live_now()).
  // Spins a little before it sleeps, unless the ranks of the machine outnumber its cores.
  virtual void wait(Instant until) = 0;
  virtual void wake() = 0;  // Ends a wait; from any thread.
  // False only when peer_status() is OK for every peer. Cheap, since drivers ask after each wait.
  virtual bool any_lost() { return true; }
  // OK, or how the peer was lost: kPeerLost with the reason.
  virtual Status peer_status(std::uint32_t peer) = 0;
  // This rank gives up an operation with that peer, by its first channel and its number there, and those
  // after it. From any thread that holds nothing itself, before anything changes that the peer may read.
  // Among threads of one process it returns once the peer has let go.
  virtual void give_up(Link /*with*/, std::uint64_t /*sequence*/) {}
  // Whether the peer has: what was read of its memory for the operation may be something else.
  virtual bool has_given_up(Link /*with*/, std::uint64_t /*sequence*/) { return false; }
  // By rank, the same at all ranks; empty where that is not known.
  virtual std::vector<RankPlace> places() const { return {}; }
  // What ranks tell each other besides their streams; null where they cannot.
  virtual GroupControl* control() { return nullptr; }
  // Where ranks compare what they call; null where they cannot.
  virtual CallBoard* calls() { return nullptr; }

  // Zeroed memory, 64-byte aligned, that shared_offset() knows where the fabric shares any; freed by
  // deallocate(), or with the fabric at the latest. One thread at a time.
  virtual Result<std::byte*> allocate(std::size_t size) = 0;
  virtual void deallocate(std::byte* memory) = 0;
};

}  // namespace thalweg
