#include "client/group/copy_tuner.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace thalweg {
namespace {

std::optional<std::size_t> kind_of(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return 0;
    case Operation::kReduceScatter:
      return 1;
    case Operation::kAllGather:
      return 2;
    case Operation::kReduce:
      return 3;
    default:
      return std::nullopt;
  }
}

}  // namespace

Duration CopyTuner::Tried::least() const {
  auto sorted = took;
  std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end());
  return sorted[1];
}

std::optional<CopyWay> CopyTuner::Course::unknown() const {
  const auto found =
      std::find_if(ways.begin(), ways.end(), [](const Tried& way) { return way.count < kKept; });
  if (found == ways.end()) return std::nullopt;
  return static_cast<CopyWay>(found - ways.begin());
}

CopyWay CopyTuner::Course::quickest() const {
  const auto quickest = std::min_element(
      ways.begin(), ways.end(), [](const Tried& a, const Tried& b) { return a.least() < b.least(); });
  return static_cast<CopyWay>(quickest - ways.begin());
}

CopyWay CopyTuner::Course::another() {
  return static_cast<CopyWay>((static_cast<std::size_t>(best) + 1 + retries++ % (kWays - 1)) % kWays);
}

CopyTuner::Trial CopyTuner::begin(Operation operation, std::size_t bytes, Instant now) {
  const std::optional<std::size_t> kind = kind_of(operation);
  if (bytes < kTunedBytesMin || !kind) return {};
  const auto doublings = static_cast<std::size_t>(std::bit_width(bytes / kTunedBytesMin)) - 1;
  const std::size_t at = *kind * kSizes + std::min(doublings, kSizes - 1);
  const std::lock_guard lock(mutex_);
  Course& course = courses_[at];
  Trial trial{course.best, static_cast<std::uint8_t>(at), bytes, now};
  if (!course.unknown() && ++course.since_retry >= course.retry_every) {
    course.since_retry = 0;
    course.retry_every = std::min(2 * course.retry_every, kRetryLast);
    course.of(course.another()).count = 0;
  }
  trial.way = course.unknown().value_or(course.best);
  return trial;
}

void CopyTuner::end(const Trial& trial, Instant now) {
  const std::lock_guard lock(mutex_);
  Course& course = courses_[trial.course];
  if (trial.way == CopyWay::kSend && course.sent_bytes < kFreshBytes) {
    course.sent_bytes += trial.bytes;
    return;
  }
  course.of(trial.way).note(now - trial.begun);
  if (course.unknown()) return;
  const CopyWay quickest = course.quickest();
  if (course.of(quickest).least() >= course.of(course.best).least()) return;
  course.best = quickest;
  course.since_retry = 0;
  course.retry_every = kRetryFirst;
}

}  // namespace thalweg
