// A network whose links are shared fairly by the flows that have something under way over them, as
// connections with congestion control share them: a fluid at max-min fair rates (max_min.h).
//
// Of one flow, messages go one after the other. A message flows over all links of its path at once, at a rate
// that changes whenever a flow begins or ends that shares a link with it, directly or through others; it has
// arrived when all of it has gone and the latencies have passed. What begins and ends at one moment changes
// rates once. Ends are rounded to the nearest picosecond.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/network/max_min.h"
#include "topology/network/network.h"

namespace thalweg {

class FairNetwork final : public Network {
 public:
  explicit FairNetwork(const Topology& topology);

  void send(Flow flow, std::uint64_t bytes) override;
  bool next(Arrival& arrival) override;

 private:
  static constexpr std::uint32_t kGone = kOwnEvents - 1;    // All of a flow's first message.
  static constexpr std::uint32_t kSettle = kOwnEvents - 2;  // Flows have begun and ended at this moment.
  struct Fluid {
    std::vector<std::uint64_t> messages;  // The first is under way.
    double left = 0;                      // Of it, in bytes, at `since`.
    double pace = 0;                      // Picoseconds per byte; 0: not yet known.
    Picoseconds since = 0;
    Picoseconds begun = 0;
    Picoseconds latency = 0;
    std::uint64_t changes = 0;  // Of the pace; an event that tells of an older one is void.
    bool seen = false;          // While flows that share links are gathered.
  };
  struct Queue {
    std::vector<Flow> flows;  // That are under way over it.
    bool changed = false;     // Since rates were last settled.
    bool seen = false;
  };

  void opened(Flow flow) override;
  void join(Flow flow);
  void leave(Flow flow);
  void mark(LinkIndex queue);
  void begin_message(Flow flow);
  void expect_end(Flow flow);
  void end_message(Flow flow);
  void gather();
  void settle();
  MaxMin::Use use_of(LinkIndex link) const;

  std::vector<Fluid> fluids_;             // By flow.
  std::vector<std::uint32_t> positions_;  // By entry of path_links_: the flow's place at that queue.
  std::vector<Queue> queues_;
  std::vector<LinkIndex> changed_;  // Queues.
  std::vector<LinkIndex> reached_;  // Queues, while they are gathered.
  std::vector<Flow> affected_;
  MaxMin max_min_;
  std::vector<MaxMin::Use> uses_;
};

}  // namespace thalweg
