// Ranks 0..n-1 with probability proportional to 1 / (rank + 1)^s.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace thalweg {

// The frequent ranks by an alias table (Walker 1977; Vose 1991), the tail by rejection-inversion (Hoermann
// and Derflinger 1996, "Rejection-inversion to generate variates from monotone discrete distributions"), so
// that memory does not grow with n. Immutable.
class Zipf {
 public:
  // n > 0, s > 0 and not 1.
  Zipf(std::uint64_t n, double s);
  std::uint64_t draw(Random& random) const {
    const std::uint64_t bits = random.next();
    const Slot& slot = slots_[scale_slot(bits >> 32)];
    const std::uint32_t head = static_cast<std::uint32_t>(bits) < slot.threshold ? slot.rank : slot.alias;
    return head < head_ ? head : draw_tail(random);
  }

 private:
  // One more rank than the head stands for the whole tail.
  struct Slot {
    std::uint32_t threshold, rank, alias;
  };
  std::uint64_t scale_slot(std::uint64_t bits32) const { return (bits32 * slots_.size()) >> 32; }
  std::uint64_t draw_tail(Random& random) const;
  double integral(double x) const;  // Of x^-s.
  double integral_inverse(double y) const;

  std::uint64_t n_;
  double s_;
  std::uint32_t head_;
  std::vector<Slot> slots_;
  double tail_low_ = 0, tail_high_ = 0;  // Integral at the tail's two ends.
};

}  // namespace thalweg
