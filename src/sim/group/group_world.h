// The processes of a simulated group: virtual time, what they send each other, and what goes wrong. Knows
// nothing of what they do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/event_queue.h"
#include "sim/findings.h"
#include "sim/group/group_plan.h"
#include "sim/report.h"

namespace thalweg::sim {

class GroupWorld {
 public:
  // How one process is driven.
  struct Driver {
    std::function<void()> turn;  // After what came was taken, and when asked for.
    // All connections with that process have ended; `dead`: so has it.
    std::function<void(std::uint32_t peer, bool dead)> lost;
  };
  GroupWorld(const GroupPlan& plan, Trace trace);

  void drive(std::uint32_t process, Driver driver) { processes_[process].driver = std::move(driver); }
  void start();
  // One event; false when nothing is left to happen.
  bool step();

  Instant now() const { return now_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t trace_hash() const { return trace_hash_; }
  Findings& findings() { return findings_; }
  const GroupPlan& plan() const { return plan_; }
  Random& random() { return random_; }
  void note(std::uint32_t process, const std::string& what);

  // A turn of the process at that time.
  void wake(std::uint32_t process, Instant at);
  // `arrive` happens at `to` after a while, in order, unless that has ended or the connection has ended since
  // it was number `connection`.
  void post(std::uint32_t from, std::uint32_t to, std::uint32_t connection, std::function<void()> arrive);
  std::uint32_t connection(std::uint32_t a, std::uint32_t b) const { return pair(a, b).number; }
  bool is_dead(std::uint32_t process) const { return processes_[process].dead; }
  bool is_paused(std::uint32_t process) const { return now_ < processes_[process].paused_until; }
  // How long it was kept from its turns, so far.
  Duration paused(std::uint32_t process) const { return processes_[process].paused; }
  // The process ends by itself.
  void exit(std::uint32_t process);

 private:
  struct Process {
    Driver driver;
    bool dead = false;
    Instant paused_until{};
    Duration paused{};
    Instant armed = kNever;
    std::vector<std::function<void()>> held;  // What came during a pause.
  };
  struct Pair {
    std::uint32_t number = 0;  // Of the connection.
    Instant last[2] = {};      // Arrival, each way.
    Instant parted_until[2] = {};
  };
  Pair& pair(std::uint32_t a, std::uint32_t b) {
    return pairs_[std::min(a, b) * plan_.ranks + std::max(a, b)];
  }
  const Pair& pair(std::uint32_t a, std::uint32_t b) const {
    return pairs_[std::min(a, b) * plan_.ranks + std::max(a, b)];
  }
  void push(Instant at, std::function<void()> what);
  void come(std::uint32_t process, std::function<void()> what);
  void turn(std::uint32_t process);
  void strike(const GroupFault& fault);
  void end(std::uint32_t process);
  Instant arrival(std::uint32_t from, std::uint32_t to);

  const GroupPlan& plan_;
  Trace trace_;
  Random random_;
  Findings findings_;
  EventQueue queue_;
  Slots<std::function<void()>> actions_;
  std::vector<Process> processes_;
  std::vector<Pair> pairs_;
  Instant now_{};
  std::uint64_t events_ = 0;
  std::uint64_t trace_hash_ = 0;
};

}  // namespace thalweg::sim
