// Looking again and again for a little while, where that is cheaper than to sleep and be woken.
#pragma once

#include <sched.h>

#include "net/live_fabric.h"
#include "net/relax.h"

namespace thalweg {

class Spin {
 public:
  // `crowded`: more processes look than there are cores, so looking keeps those from working who are waited
  // for.
  explicit Spin(bool crowded) : crowded_(crowded) {}

  // Until `changed()` holds; false when it did not within the time that waking up takes, or by `until`.
  template <class Changed>
  bool look(Instant until, const Changed& changed) const {
    if (changed()) return true;
    return crowded_ ? yield_and_look(until, changed) : spin_and_look(until, changed);
  }

 private:
  // What waking an idle core costs (28 us on virtual machines), so that the loss is at most a factor of 2.
  static constexpr Duration kSpinTime{40'000};
  static constexpr int kLooksPerClock = 64;
  // Who is waited for, and shares a core with others, takes as long for a cacheful of work; to yield costs
  // them little meanwhile.
  static constexpr Duration kYieldTime{200'000};
  static constexpr int kYieldsPerClock = 4;

  template <class Changed>
  bool yield_and_look(Instant until, const Changed& changed) const {
    for (Instant end = kNever;;) {
      for (int i = 0; i < kYieldsPerClock; ++i) {
        ::sched_yield();
        if (changed()) return true;
      }
      const Instant now = live_now();
      if (end == kNever) end = now + kYieldTime;
      if (now >= end || now >= until) return false;
    }
  }
  template <class Changed>
  bool spin_and_look(Instant until, const Changed& changed) const {
    for (Instant end = kNever;;) {
      for (int i = 0; i < kLooksPerClock; ++i) {
        relax();
        if (changed()) return true;
      }
      const Instant now = live_now();
      if (end == kNever) end = now + kSpinTime;
      if (now >= end || now >= until) return false;
    }
  }

  bool crowded_;
};

}  // namespace thalweg
