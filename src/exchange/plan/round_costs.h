// What rounds of transfers cost on a topology, for the formulas of routes.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/plan/cost.h"
#include "exchange/plan/layout.h"

namespace thalweg {

struct Transfer {
  std::uint32_t from = 0;  // Ranks.
  std::uint32_t to = 0;
  double bytes = 0;
};
using Round = std::vector<Transfer>;  // All under way at once.

class RoundCosts {
 public:
  // All of them outlive this.
  RoundCosts(const Topology& topology, const Layout& layout, const Handling& handling);
  RoundCosts(const Topology& topology, const Layout& layout, const Handling&& handling) = delete;

  struct Cost {
    double latency = 0;  // The longest, in seconds.
    double mean_latency = 0;
    double load = 0;  // Seconds of the link that carries for longest.
    double whole() const { return latency + load; }
  };
  Cost of(const Round& round);
  // In how many pieces so many bytes travel; a last one that is short counts in proportion.
  double messages_of(double bytes) const;
  double latency(std::uint32_t from, std::uint32_t to);  // In seconds.

 private:
  const Topology& topology_;
  const Layout& layout_;
  const Handling& handling_;
  std::vector<LinkIndex> path_;
  std::vector<double> loads_;      // By queue; 0 between calls.
  std::vector<LinkIndex> loaded_;  // Queues that are not.
};

// Every rank to the one so many behind it.
Round shift(std::uint32_t ranks, std::uint32_t distance, double bytes);
// Messages that a block takes.
double pieces_of(const Layout& layout, double elements);

}  // namespace thalweg
