// The part of a worker that adds up pushes, its own shards' and those of the workers below it, on their way
// to the servers. A push goes this way once under each map; sent again, it goes straight to its server, so
// that nobody depends on those in between.
#pragma once

#include <optional>
#include <vector>

#include "cluster/membership.h"
#include "worker/combiner.h"
#include "worker/request.h"

namespace thalweg {

class PushRelay {
 public:
  // `member` outlives the relay.
  explicit PushRelay(const cluster::Membership& member) : member_(member) {}

  // Under a new map. What was combined under an older one is forgotten, not sent again: it may hold what a
  // former owner pushed. All who asked have their pushes still, and send them again.
  void restart(Transport& out);
  // Forgets all; the job is over.
  void stop() { combiner_.reset({}, 0, {}); }
  // Who adds up this push with others before it goes on, or has rows on their way down; none when it goes to
  // its server now.
  std::optional<NodeId> next_hop(RequestPart& part) const;
  // Whether another worker's push is one to be added here.
  Status check(NodeId from, const Frame& frame) const;
  // Precondition: the push is this worker's, or was found right.
  void add(Instant now, NodeId from, Frame push) { combiner_.add(now, from, std::move(push)); }
  // What is to be sent on now.
  std::vector<Combiner::Batch> take(Instant now);
  // What was sent on has its answer, or will have none.
  void on_answered(const FrameHeader& push) { combiner_.on_answered(push.table, push.ranges); }
  Instant next_deadline() const { return combiner_.next_deadline(); }

 private:
  bool off() const { return member_.map().combine.kind == Combining::Kind::kNone; }

  const cluster::Membership& member_;
  Combiner combiner_;
};

}  // namespace thalweg
