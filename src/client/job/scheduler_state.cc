#include "client/job/scheduler_state.h"

#include <utility>

#include "state/state_log.h"

namespace thalweg {

Result<std::unique_ptr<SchedulerState>> open_scheduler_state(const std::string& place) {
  auto state = std::make_unique<SchedulerState>();
  auto log = state::StateLog::open(state->disk, place, state->clock);
  if (!log) return Status(log.status().code(), "--state: " + log.status().message());
  state->store = *std::move(log);
  auto kept = take_lead(*state->store);
  if (!kept) return Status(kept.status().code(), "--state: " + kept.status().message());
  state->kept = *std::move(kept);
  return state;
}

}  // namespace thalweg
