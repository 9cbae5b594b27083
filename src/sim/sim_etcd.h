// An etcd as a job's schedulers meet it over a network: it outlives them, is away for a while, hears some
// calls never and some late, some of its answers are lost, and it forgets what has been. What is heard late
// may be of a scheduler in whose place another one has come.
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
  // What leads is a key that is set and gone when the world says so: nobody has a lease by these.
  Result<StateLease> grant(Duration) override { return StateLease{1}; }
  Status renew(StateLease) override { return ok_status(); }
  Status revoke(StateLease) override { return ok_status(); }
  // A key that is bound to a lease, and that lease's end.
  void bind(const std::string& key) { change(std::vector{StateChange{key, "bound"}}); }
  void end_lease_of(const std::string& key) { change(std::vector{StateChange{key, std::nullopt}}); }

  // After what time the caller has the newest call's answer, or gives it up.
  Duration answer_takes();
  const StateCounts& counts() const { return counts_; }

 private:
  enum class Fate : std::uint8_t { kAnswered, kUnheard, kHeardLate, kUnanswered };
  bool faulty() const;
  bool away();
  Fate draw();
  Result<std::uint64_t> make(std::uint64_t number, std::span<const StateGuard> guards,
                             std::span<const StateChange> changes);
  Status gives_up();
  bool forget();
  void go_back();
  void back_up();
  std::uint64_t change(std::span<const StateChange> changes);

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
  Instant away_from_{0}, away_until_{0}, forgets_at_{0};
  std::uint64_t asked_ = 0;    // Changes, so far; and of them the newest
  std::uint64_t counted_ = 0;  // that has counted.
  bool given_up_ = false;      // The newest call.
  StateCounts counts_;
};

}  // namespace thalweg::sim
