// An etcd as a job's scheduler meets it over a network: it outlives schedulers, is away for a while, hears
// some calls never and some late, and some of its answers are lost. What is heard late may be of a scheduler
// in whose place another one has come.
#pragma once

#include <cstdint>
#include <functional>
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
  };
  // What it keeps is in `held`. All outlive this.
  SimEtcd(const Plan& plan, StateStore& held, Findings& findings, World world);

  Result<StateView> get(std::string_view prefix) override;
  // No change may count that was asked for before one that has counted: that is what guards are for.
  Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                             StateLease lease) override;
  Result<std::vector<StateEvent>> watch(std::string_view prefix, std::uint64_t after,
                                        Duration wait) override {
    return held_.watch(prefix, after, wait);
  }
  Result<StateLease> grant(Duration length) override { return held_.grant(length); }
  Status renew(StateLease lease) override { return held_.renew(lease); }
  Status revoke(StateLease lease) override { return held_.revoke(lease); }

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

  const StateFaults& faults_;
  StateStore& held_;
  Findings& findings_;
  const World world_;
  Random random_;
  Instant away_from_{0}, away_until_{0};
  std::uint64_t asked_ = 0;    // Changes, so far; and of them the newest
  std::uint64_t counted_ = 0;  // that has counted.
  bool given_up_ = false;      // The newest call.
  StateCounts counts_;
};

}  // namespace thalweg::sim
