// A scheduler whose state outlives it: what follows from a change is said once a store has that change, and
// not before, so that another scheduler may take the job up wherever this one ends. What it takes to write is
// computed between turns; meanwhile the scheduler hears everybody, and says that it is there. Who takes a job
// up says no more than that before all members have said what they were told: where the state does not have
// that, it is older, and this scheduler ends.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "node/state_store.h"
#include "scheduler/kept_state.h"
#include "scheduler/scheduler.h"
#include "wire/state_mark.h"

namespace thalweg {

class KeptScheduler final : public Node {
 public:
  // Both outlive this. Without a store nothing is kept, and all is said at once. `kept`: as take_lead() gave
  // it.
  KeptScheduler(Scheduler& scheduler, StateStore* store, const KeptState& kept);

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override;
  void on_time(Instant now, Transport& out) override;
  Instant next_deadline() const override;
  Computation* take_work() override;
  void on_computed(Instant now, Transport& out) override;
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  bool finished() const override {
    return fenced_ || (scheduler_.finished() && (held_.empty() || !trouble_.ok()));
  }
  bool over() const override { return fenced_ || scheduler_.over(); }
  bool has_left(NodeId peer) const override { return scheduler_.has_left(peer); }

  // What the scheduler's process does with it outside of these.
  void turn(Transport& out, const std::function<void(Transport&)>& act);
  // Somebody knows that another one has taken the job up, before a write has found it.
  void lose_lead();
  // Whether another one may have, of which this one cannot know now: nodes are to look for it.
  void doubt_lead(bool in_doubt) { in_doubt_ = in_doubt; }
  // Why it no longer leads: another one has taken the job up, or (kModel) the state has gone back. Nobody has
  // been told anything since.
  const std::optional<Status>& fenced() const { return fenced_; }
  // Members of a job that was taken up which have yet to say what they were told before.
  const std::set<NodeId>& awaited() const { return awaited_; }
  // Whether the store has all that the scheduler knows.
  bool settled() const { return kept_ == changes_; }
  // Of the newest map that is kept; 0: none is.
  std::uint32_t kept_epoch() const { return kept_epoch_; }
  // Why what has changed is not kept yet; OK: it is, or is about to be.
  const Status& trouble() const { return trouble_; }

 private:
  class Gate;
  // What one call writes. Where its answer is lost it may count later, in place of the next one or after it,
  // which therefore looks first whether it has.
  class Write final : public Computation {
   public:
    Write(StateStore* its_store, StateGuard lead, StateGuard last)
        : store_(its_store), lead_(std::move(lead)), last_(std::move(last)) {}
    void compute() override;
    std::vector<StateChange> changes;
    std::uint64_t number = 0;  // Of the newest change that it has.
    std::uint32_t tries = 0;   // So far, of all writes.
    Result<std::uint64_t> done{Status()};

   private:
    Status look();
    StateStore* const store_;
    const StateGuard lead_;
    StateGuard last_;
    bool in_doubt_ = false;  // Whether the one before has counted.
  };
  struct Held {
    NodeId to;
    Frame frame;
    std::uint64_t change = 0;  // Is said once this one is kept.
  };
  // What is said by a state that has all writes so far, of a receiver that has said what it was told.
  Bytes mark_for(NodeId to) const;
  void hear_mark(NodeId from, const wire::StateMark& told);
  void await_members();
  void forget_leads();
  void fence(Status why);
  void note_changes();
  bool keeps_waiting() const;
  void let_out(Transport& out);

  Scheduler& scheduler_;
  StateStore* const store_;
  std::string image_;                              // As it is to be kept, at least.
  std::map<std::string, std::string> unkept_;      // By key.
  std::uint64_t changes_ = 0;                      // So far, and of them
  std::uint64_t kept_ = 0;                         // these are in the store.
  std::uint32_t kept_epoch_ = 0;                   // Of the map as of those.
  std::map<std::uint64_t, std::uint32_t> epochs_;  // By later change.
  bool writing_ = false;
  Write write_;
  const std::uint32_t number_;               // As the state has it,
  const std::vector<EarlierLead> earlier_;   // and as it had those before. Of them,
  std::vector<std::uint32_t> leads_before_;  // whom it still has.
  std::uint32_t writes_ = 0;                 // Of this one, that are in the store.
  std::map<NodeId, wire::StateMark> told_;   // What each node has said that it was told.
  std::set<NodeId> awaited_;                 // Members that have yet to say that.
  Instant write_at_{0}, now_{0};
  std::optional<Instant> unkept_since_;  // That a store has had nothing of what has changed.
  std::uint64_t waits_ = 0;              // Counts those who were told that they are to wait.
  std::deque<Held> held_;
  bool in_doubt_ = false;
  std::optional<Status> fenced_;
  Status trouble_;
};

}  // namespace thalweg
