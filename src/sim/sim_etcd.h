// An etcd as a job's schedulers meet it over a network: it outlives them, is away for a while, hears some
// calls never and some late, some of its answers are lost, and it forgets what has been. What is heard late
// may be of a scheduler in whose place another one has come. Its leases end early, as by a clock that runs
// fast, or late, as where its leader changes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "node/state_store.h"
#include "sim/cluster/plan.h"
#include "sim/findings.h"
#include "sim/report.h"

namespace thalweg::sim {

class SimEtcd final : public StateStore {
 public:
  struct World {
    std::function<Instant()> now;
    std::function<void(Instant, std::function<void()>)> at;
    std::function<void()> on_back;  // It has become what it was before.
  };
  // All outlive this.
  SimEtcd(const Plan& plan, Findings& findings, World world);

  Result<StateView> get(std::string_view prefix) override;
  // No change may count that was asked for before one that has counted: that is what guards are for.
  Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                             StateLease lease) override;
  Result<std::vector<StateEvent>> watch(std::string_view prefix, std::uint64_t after, Duration wait) override;
  // Ends early or late at times.
  Result<StateLease> grant(Duration length) override;
  Status renew(StateLease lease) override;
  Status revoke(StateLease lease) override;

  // After what time the caller has the newest call's answer, or gives it up.
  Duration answer_takes();
  const StateCounts& counts() const { return counts_; }
  // The own key of whoever has taken the term last.
  const std::string& leader() const { return leader_; }

 private:
  friend class EtcdWay;
  enum class Fate : std::uint8_t { kAnswered, kUnheard, kHeardLate, kUnanswered };
  struct Lease {
    Duration length{};
    Instant ends{0};
  };
  bool faulty() const;
  bool away();
  Fate draw();
  Result<std::uint64_t> make(std::uint64_t number, std::span<const StateGuard> guards,
                             std::span<const StateChange> changes, StateLease lease);
  Status gives_up();
  Status call();
  void extend(Lease& lease);
  void await_end(StateLease id);
  void end_lease(StateLease id);
  void check_leader(std::span<const StateChange> changes);
  bool forget();
  void go_back();
  void back_up();
  std::uint64_t change(std::span<const StateChange> changes, StateLease lease = 0);

  const StateFaults& faults_;
  Findings& findings_;
  const World world_;
  Random random_;
  std::map<std::string, StateEntry, std::less<>> entries_;
  std::uint64_t revision_ = 0;
  std::deque<StateEvent> events_;  // Since what is forgotten.
  std::uint64_t forgotten_ = 0;    // Of this revision and those before there are no events.
  struct Backup {
    std::map<std::string, StateEntry, std::less<>> entries;
    std::uint64_t revision = 0, counted = 0;
  };
  std::deque<Backup> backups_;    // As it was after each of the newest changes of a job.
  std::uint32_t changes_ = 0;     // Of that.
  std::uint64_t times_back_ = 0;  // What was on its way before is never heard.
  std::map<std::string, std::uint64_t, std::less<>> told_;  // Newest own write that each who led was told of.
  std::map<StateLease, Lease> leases_;
  std::map<std::string, StateLease, std::less<>> bound_;  // Keys that end with a lease.
  StateLease granted_ = 0;                                // The newest.
  std::string leader_;                                    // Whose own key it is that was set with the term.
  Instant away_from_{0}, away_until_{0}, forgets_at_{0};
  std::uint64_t asked_ = 0;    // Changes, so far; and of them the newest
  std::uint64_t counted_ = 0;  // that has counted.
  bool given_up_ = false;      // The newest call.
  StateCounts counts_;
};

// One scheduler's way to an etcd, which is cut at times while others have theirs.
class EtcdWay final : public StateStore {
 public:
  // All outlive this.
  EtcdWay(SimEtcd& etcd, const StateFaults& faults, Random random)
      : etcd_(etcd), faults_(faults), random_(random) {}

  Result<StateView> get(std::string_view prefix) override;
  Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                             StateLease lease) override;
  Result<std::vector<StateEvent>> watch(std::string_view prefix, std::uint64_t after, Duration wait) override;
  Result<StateLease> grant(Duration length) override;
  Status renew(StateLease lease) override;
  Status revoke(StateLease lease) override;

 private:
  bool cut();

  SimEtcd& etcd_;
  const StateFaults& faults_;
  Random random_;
  Instant cut_from_{0}, cut_until_{0};
};

}  // namespace thalweg::sim
