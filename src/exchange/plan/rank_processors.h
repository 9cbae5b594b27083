// What ranks' processors do for messages and sums in virtual time, one thing after the other: the overhead of
// a message at either end, as in LogP (Culler et al., PPoPP 1993), and the time to add a byte, as in R.
// Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", 2005,
// section 3.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/plan/cost.h"
#include "topology/network/network.h"

namespace thalweg {

// Each call takes a rank's processor from the moment that it has done what came before, and says when it will
// be done.
class RankProcessors {
 public:
  // Blocks cost nothing to fetch.
  RankProcessors(std::uint32_t ranks, const Handling& handling);

  Picoseconds free(std::uint32_t rank) const { return free_[rank]; }
  // One end of a message between ranks so many links apart.
  Picoseconds message(std::uint32_t rank, Picoseconds now, std::uint32_t hops) {
    return take(rank, now, message_time(hops));
  }
  Picoseconds message_time(std::uint32_t hops) const { return hops <= 2 ? message_ : far_message_; }
  Picoseconds add(std::uint32_t rank, Picoseconds now, std::uint64_t bytes) {
    return take(rank, now, static_cast<Picoseconds>(static_cast<double>(bytes) * add_ + 0.5));
  }

 private:
  Picoseconds take(std::uint32_t rank, Picoseconds now, Picoseconds time) {
    Picoseconds& free = free_[rank];
    return free = (free > now ? free : now) + time;
  }

  Picoseconds message_;
  Picoseconds far_message_;
  double add_;  // Picoseconds per byte.
  std::vector<Picoseconds> free_;
};

}  // namespace thalweg
