// Watches every answer of every server and compares it with what the protocol promises.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "server/server.h"
#include "sim/cluster/arrivals.h"
#include "sim/findings.h"

namespace thalweg::sim {

class ServerWatch {
 public:
  ServerWatch(const Workload& workload, Findings& findings)
      : workload_(workload), findings_(findings), arrivals_(workload) {}

  // `server` is given a request.
  void on_asked(NodeId id, const Server& server, NodeId from, const FrameHeader& head);
  // `sent` leaves `server` for `to` in the turn that it was given `asked` (null: it was given none).
  void on_answer(NodeId id, const Server& server, NodeId to, const Frame* asked, const Frame& sent);
  // A worker tells another, or itself, what became of a push that it combined.
  void on_combiner_answer(NodeId id, const FrameHeader& head);
  // After a turn of `server`.
  void after_turn(NodeId id, const Server& server);
  // The largest number of steps by which an answered pull led the slowest shard.
  std::uint32_t lead_max() const { return lead_max_; }
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  void on_push_reply(const Server& server, const FrameHeader& push);
  void on_pull_reply(NodeId id, const Server& server, const FrameHeader& head, bool read_only);
  void on_marks_reply(NodeId id, const Server& server, const Frame& sent);
  void check_owner(const Server& server, const FrameHeader& head);
  // What one server owes.
  struct Owed {
    std::set<NodeId> followers;  // Who has been told to wait for newer rows.
    std::map<std::pair<NodeId, std::uint32_t>, FrameHeader> waiting;  // Pulls, by asker and request.
    std::map<std::pair<NodeId, std::uint32_t>, FrameHeader> asked;    // Pushes and pulls, the same way.
    std::vector<std::uint32_t> lead_max;                              // By table: of its answers to pulls.
    bool news = false;                                                // A push has arrived in this turn.
  };
  void check_limits(NodeId id, const Server& server, const Owed& owed) const;
  void check_waiting(NodeId id, const Server& server, Owed& owed);

  // Where others have copies of what servers have, answers come later than they could.
  bool copied() const { return workload_.plan().copies(); }

  const Workload& workload_;
  Findings& findings_;
  Arrivals arrivals_;
  std::map<NodeId, Owed> owed_;
  std::uint32_t lead_max_ = 0;
};

}  // namespace thalweg::sim
