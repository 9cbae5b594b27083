#include "client/group/copy_tuner.h"

#include <algorithm>
#include <bit>

namespace thalweg {
namespace {

CopyTuner::Way other(CopyTuner::Way way) {
  return way == CopyTuner::Way::kFetch ? CopyTuner::Way::kStage : CopyTuner::Way::kFetch;
}

}  // namespace

Duration CopyTuner::Tried::least() const {
  return *std::min_element(took.begin(), took.begin() + static_cast<std::ptrdiff_t>(std::min(count, kKept)));
}

CopyTuner::Trial CopyTuner::begin(Operation operation, std::size_t bytes, Instant now) {
  if (bytes < kTunedBytesMin) return {};
  std::size_t kind = 0;
  switch (operation) {
    case Operation::kAllReduce:
      break;
    case Operation::kReduceScatter:
      kind = 1;
      break;
    case Operation::kAllGather:
      kind = 2;
      break;
    default:
      return {};
  }
  const auto doublings = static_cast<std::size_t>(std::bit_width(bytes / kTunedBytesMin)) - 1;
  const std::size_t at = kind * kSizes + std::min(doublings, kSizes - 1);
  const std::lock_guard lock(mutex_);
  Course& course = courses_[at];
  Trial trial{course.best, static_cast<std::uint8_t>(at), now};
  const Way second = other(course.best);
  const std::size_t tries = course.of(second).count;
  if (tries < kKept) {
    if (tries < course.of(course.best).count) trial.way = second;  // In turn, until there are enough of both.
  } else if (++course.since_retry >= course.retry_every) {
    course.since_retry = 0;
    course.retry_every = std::min(2 * course.retry_every, kRetryLast);
    trial.way = second;
  }
  return trial;
}

void CopyTuner::end(const Trial& trial, Instant now) {
  const std::lock_guard lock(mutex_);
  Course& course = courses_[trial.course];
  Tried& tried = course.of(trial.way);
  tried.took[tried.count++ % kKept] = now - trial.begun;
  const Way second = other(course.best);
  const Tried &best = course.of(course.best), &theirs = course.of(second);
  if (std::min(theirs.count, best.count) < kKept || theirs.least() >= best.least()) return;
  course.best = second;
  course.since_retry = 0;
  course.retry_every = kRetryFirst;
}

}  // namespace thalweg
