// The seam between protocol and world: nodes are driven by the network, by the simulator and by the fuzzers
// alike.
#pragma once

#include <string_view>

#include "base/frame.h"
#include "base/instant.h"
#include "thalweg/ids.h"

namespace thalweg {

// Read by drivers only; protocol code is handed `now`.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

// Where a node's frames go. Never blocks and never calls back. A frame may be lost, late, repeated or
// reordered.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(NodeId to, Frame frame) = 0;
  // Where `node` can be reached, such as "10.0.0.7:7100"; drivers that need no addresses ignore it.
  virtual void introduce(NodeId node, std::string_view address) = 0;
  // The node whose turn it is has been given another id by the scheduler.
  virtual void rename_self(NodeId id, std::uint64_t cluster) = 0;
};

// What a node has computed between two of its turns.
class Computation {
 public:
  virtual ~Computation() = default;
  // Once, on any thread, and for as long as it takes.
  virtual void compute() = 0;
};

// One participant: no I/O, thread, clock or randomness of its own. Its driver calls it from one thread at a
// time; `out` is valid during the call only. Turns are short, whatever is computed meanwhile.
class Node {
 public:
  virtual ~Node() = default;
  virtual void on_frame(Instant now, NodeId from, Frame frame, Transport& out) = 0;
  // Called at or after next_deadline().
  virtual void on_time(Instant now, Transport& out) = 0;
  virtual Instant next_deadline() const = 0;  // kNever when there is nothing to wait for.
  // What is to be computed next, asked at the end of on_time(); null: nothing. Its driver has it computed
  // outside the node's turns, which go on meanwhile, and calls on_computed() in the one after that. The node
  // outlives it, and has no other work before then.
  virtual Computation* take_work() { return nullptr; }
  virtual void on_computed(Instant /*now*/, Transport& /*out*/) {}
  // The driver has lost `peer` for longer than limits::kPeerGrace.
  virtual void on_peer_lost(Instant now, NodeId peer, Transport& out) = 0;
  // The node's work is over; its driver may let go of it.
  virtual bool finished() const = 0;
  // The node's job is over, though it may have things to say yet: its peers leave, and none of them is lost.
  virtual bool over() const { return finished(); }
  // Whether `peer` has no part in the job any more, so that it is no news that it goes.
  virtual bool has_left(NodeId /*peer*/) const { return false; }
};

// For drivers in which computing takes no time: at the end of on_time().
inline void compute_at_once(Node& node, Instant now, Transport& out) {
  Computation* work = node.take_work();
  if (work == nullptr) return;
  work->compute();
  node.on_computed(now, out);
}

}  // namespace thalweg
