// How a node takes part in a job: it asks to join until it is welcome, keeps the newest map, speaks to the
// scheduler as often as that says, and leaves when it is told to or the scheduler has fallen silent. Each
// server and worker has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "cluster/combine_tree.h"
#include "cluster/scheduler_watch.h"
#include "node/node.h"
#include "wire/messages.h"
#include "wire/state_mark.h"

namespace thalweg::cluster {

struct MemberOptions {
  std::string address{};  // Where other nodes reach this one; empty for drivers without addresses.
  std::string name{};     // For people: host and process.
  std::string machine{};  // See wire::Join.
  std::uint32_t pid = 0;  // See wire::Join.
  bool observer = false;  // See wire::Join.
  // Where schedulers may be, of which one leads at a time: the first is known to the driver. Where it answers
  // nothing, the next is asked.
  std::vector<std::string> schedulers{};
  Duration patience{};  // With a scheduler that has welcomed this node and then answers nothing; 0: no end.
};

class Membership {
 public:
  // What a frame was to the membership.
  enum class News {
    kNone,      // Nothing, nor is it for the node: out of date, from nobody who may say so, or after the end.
    kOther,     // Nothing; it is the node's own.
    kWelcome,   // The node has a name. It answers with speak().
    kFirstMap,  // The job begins.
    kMap,       // Who owns what has changed.
    kStop,      // The job is over, perhaps said again. The node answers with confirm_stop().
  };

  Membership(Role role, MemberOptions options);

  const std::optional<NodeId>& id() const { return id_; }  // Once welcome.
  const wire::Map& map() const { return map_; }            // The newest; of epoch 0 before the first.
  const CombineTree& combine_tree() const { return tree_; }
  // Whether the newest map gives ranges to other servers than the one before, or names more of them.
  bool ranges_moved() const { return ranges_moved_; }
  // Whether that is a server to which the newest map gives no ranges: others have what it had.
  bool has_left(NodeId peer) const;
  // How far the scheduler's state was by what this node was told last.
  const wire::StateMark& told() const { return told_; }
  // How the job ended for this node; empty while it runs.
  const std::optional<Status>& stopped() const { return stopped_; }
  // Whether the scheduler has said that it is over.
  bool told_to_stop() const { return told_to_stop_; }
  bool observer() const { return options_.observer; }

  News hear(Instant now, NodeId from, const Frame& frame, Transport& out);

  // When speak() is due, after stopped() never.
  Instant next_deadline() const { return stopped_ ? kNever : speak_at_; }
  // Asks to join, or once welcome sends a heartbeat, and says again what end() said.
  void speak(Instant now, const Counters& counters, Transport& out);
  // Whether a scheduler that is gone is worth waiting for, until scheduler_lost().
  bool awaits_scheduler() const { return map_.scheduler_kept && !stopped_; }
  // So that whoever leads next hears of this node as soon as it can be reached, not at the next heartbeat.
  void call_scheduler(Transport& out) const { tell(Op::kGetMap, ok_status(), {}, out); }
  // Why the scheduler is given up, if it is; to be asked whenever the node has the time.
  std::optional<std::string> scheduler_lost() const { return scheduler_.lost(map_); }

  // To the scheduler.
  void tell(Op op, const Status& status, Bytes body, Transport& out) const;
  void confirm_stop(Transport& out) const { tell(Op::kStop, ok_status(), {}, out); }
  // The node's part is over, which ends the job unless `status` is OK. It stays until it is told to stop.
  void end(const Status& status, Transport& out);
  // The node leaves without a word. The first reason counts.
  void leave(Status why);
  // The node leaves and says why.
  void fail(Status why, Transport& out);

  // Marks a frame as of this job, by the newest map.
  void stamp(FrameHeader& head) const;
  // By the newest map, see fence.h.
  Status check_map_epoch(const FrameHeader& head) const;
  Status check_owner(NodeId from, const FrameHeader& head) const;

 private:
  News on_welcome(const Frame& frame, Transport& out);
  News on_map(Instant now, const Frame& frame);
  void hear_doubt(Instant now, bool in_doubt);
  void look_for_scheduler(Transport& out);
  bool looks_elsewhere() const;
  bool may_say(Instant now, const Frame& frame);

  Role role_;
  MemberOptions options_;
  std::optional<NodeId> id_;
  std::uint64_t cluster_ = 0;
  wire::Map map_;
  CombineTree tree_;
  bool ranges_moved_ = false;
  SchedulerWatch scheduler_;
  wire::StateMark told_;
  std::size_t asked_ = 0;      // Of the schedulers.
  std::uint32_t unheard_ = 0;  // Words to it since it last said anything.
  bool doubted_ = false;       // It has said that another one may lead.
  Instant speak_at_{0};
  std::optional<Status> ended_;  // Said until the job is over.
  std::optional<Status> stopped_;
  bool told_to_stop_ = false;
};

}  // namespace thalweg::cluster
