// How long a request may go unanswered before it is sent again: as long as answers take, so that repeats
// never cost a slow node more than it can bear. V. Jacobson, M. Karels, "Congestion avoidance and control",
// SIGCOMM 1988, section 2, with the rule of P. Karn, C. Partridge, "Improving round-trip time estimates in
// reliable transport protocols", SIGCOMM 1987.
#pragma once

#include <algorithm>

#include "base/instant.h"
#include "base/limits.h"

namespace thalweg {

class RetryTimer {
 public:
  // Of what is sent now for the first time.
  Duration first_wait() const { return wait_; }

  // A first word about what was sent once only; about a repeat nobody knows which sending it answers.
  void on_answer(Duration took) {
    const Duration off = took > mean_ ? took - mean_ : mean_ - took;
    mean_ = answered_ ? mean_ + (took - mean_) / 8 : took;
    deviation_ = answered_ ? deviation_ + (off - deviation_) / 4 : took / 2;
    answered_ = true;
    wait_ = std::clamp<Duration>(mean_ + 4 * deviation_, limits::kRetryFirst, limits::kRetryMax);
  }

  // Something went unanswered for its first wait. Doubles the wait, until the next answer, and once only for
  // all that was sent meanwhile.
  void on_silence(Instant sent) {
    if (sent < backed_off_) return;
    backed_off_ = sent + wait_;
    wait_ = std::min<Duration>(wait_ * 2, limits::kRetryMax);
  }

 private:
  Duration wait_ = limits::kRetryFirst;
  Duration mean_{}, deviation_{};
  bool answered_ = false;
  Instant backed_off_{};
};

}  // namespace thalweg
