// Watches whom the scheduler takes for lost, by its own clock: nobody before its patience has passed or its
// driver has given somebody up, and then at once; and the dead for ever. And who has left: not before others
// have what it had.
#pragma once

#include <map>
#include <vector>

#include "base/frame.h"
#include "scheduler/scheduler.h"
#include "sim/cluster/plan.h"
#include "sim/findings.h"

namespace thalweg::sim {

class PatienceWatch {
 public:
  PatienceWatch(const Plan& plan, Findings& findings) : plan_(plan), findings_(findings) {}

  // The scheduler sends `frame` to a node that has asked to join.
  void on_sent(Instant now, NodeId to, const Frame& frame);
  // The scheduler is given a frame of `from`.
  void on_heard(Instant now, NodeId from);
  // The scheduler's driver has given `node` up.
  void on_given_up(NodeId node);
  // Whoever started `node` has told the scheduler that it ended.
  void on_dead(NodeId node);
  bool dead(NodeId node) const;
  // The scheduler's process was stopped for so long, and begins to hear again now.
  void on_own_pause(Duration length);
  // Another scheduler has come in the place of the one before.
  void on_restart(Instant now, const Scheduler& scheduler);
  // After a turn of the scheduler; `timer`: one that its clock asked for.
  void after_turn(Instant now, const Scheduler& scheduler, bool timer);

 private:
  struct Member {
    NodeId temporary;
    Instant heard;
    Duration paused{};    // While the scheduler itself was stopped, since then.
    Duration forgiven{};  // Of that, at least.
    bool unsure = false;  // When the scheduler heard it first.
    bool given_up = false;
    bool dead = false;
    bool lost = false;
    bool left = false;
  };
  void begin(Instant now, const Scheduler& scheduler);
  void expect_dead_lost(const Scheduler& scheduler);
  void expect_spared(NodeId server, const Scheduler& scheduler);

  const Plan& plan_;
  Findings& findings_;
  std::map<NodeId, Member> members_;
  bool started_ = false;
  std::vector<Placement> before_;  // While a server is to leave.
};

}  // namespace thalweg::sim
