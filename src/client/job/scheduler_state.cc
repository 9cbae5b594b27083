#include "client/job/scheduler_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "net/etcd/etcd_store.h"
#include "scheduler/key_watch.h"
#include "state/state_log.h"

namespace thalweg {
namespace {

constexpr Duration kLeadLength = std::chrono::seconds(3);
// Until a lease of a killed process has certainly ended.
constexpr Duration kLeadPatience = 3 * kLeadLength;
constexpr Duration kLookEvery = std::chrono::milliseconds(500);
constexpr int kTries = 5;

bool may_pass(Code code) { return code == Code::kRetry || code == Code::kIo || code == Code::kTimeout; }

// Looks once at the job of a state, as soon as there is one.
class FitLook {
 public:
  explicit FitLook(const StatePlace& place) : place_(place) {}
  Status look(StateStore& store) {
    if (fits_ || !place_.standby || !place_.fits) return ok_status();
    const auto view = store.get(kJobKey);
    if (!view || !view->entries.contains(kJobKey)) return ok_status();
    fits_ = true;
    return place_.fits(view->entries.at(kJobKey).value);
  }

 private:
  const StatePlace& place_;
  bool fits_ = false;
};

Status waited_enough() { return {Code::kAborted, "it need not wait any more"}; }

Status open_log(const StatePlace& place, SchedulerState& state) {
  if (place.standby)
    return {Code::kUsage,
            "--standby is for a state that several machines reach, expected --state etcd://HOST:PORT/PREFIX"};
  if (place.tls != StateTls())
    return {Code::kUsage, place.where + ": certificates are for etcds://, this is a directory"};
  auto log = state::StateLog::open(state.disk, place.where, state.clock);
  if (!log) return log.status();
  state.store = *std::move(log);
  return ok_status();
}

// Until nobody else leads.
Status take_etcd_lead(const StatePlace& place, std::unique_ptr<StateStore> its_store, SchedulerState& state) {
  const Instant begun = state.clock.now();
  KeyWatch leader(kLeadKey);  // What has ended is seen at once.
  FitLook job(place);
  for (;;) {
    auto lead = Lead::take(its_store, place.leader, kLeadLength);
    if (lead) {
      state.lead = *std::move(lead);
      return ok_status();
    }
    const Code code = lead.status().code();
    const bool led = code == Code::kRetry;
    const Duration waited = state.clock.now() - begun;
    if (!place.standby && (!led || waited > kLeadPatience)) {
      return led ? Status(Code::kUsage,
                          fmt::format("{} leads the job whose state is there; --standby waits for its turn",
                                      lead.status().message()))
                 : lead.status();
    }
    if (!may_pass(code)) return lead.status();
    if (Status fits = job.look(*state.store); !fits.ok()) return fits;
    const std::string whom =
        led ? "its turn: " + lead.status().message() + " leads the job" : "etcd: " + lead.status().message();
    if (place.waiting && !place.waiting(waited, whom)) return waited_enough();
    if (!led || !leader.gone(*its_store, kLookEvery)) std::this_thread::sleep_for(kLookEvery / 5);
  }
}

Status open_etcd(const StatePlace& place, SchedulerState& state) {
  const auto where = parse_etcd_place(place.where, place.tls);
  if (!where) return where.status();
  auto store = EtcdStore::open(*where);
  if (!store) return store.status();
  // A slow change keeps no lease from being renewed, nor does an address that does not answer.
  auto of_lead = EtcdStore::open(*where, {.answer = kLeadLength / 2});
  if (!of_lead) return of_lead.status();
  state.store = *std::move(store);
  return take_etcd_lead(place, *std::move(of_lead), state);
}

}  // namespace

// A standby that could lead, but cannot reach the state for now, waits for its turn again: others may reach
// it.
Result<std::unique_ptr<SchedulerState>> open_scheduler_state(const StatePlace& place) {
  const auto said = [](const Status& status) {
    return Status(status.code(), "--state: " + status.message());
  };
  std::random_device random;
  const RealClock clock;
  for (const Instant begun = clock.now();;) {
    auto state = std::make_unique<SchedulerState>();
    const Status opened = is_etcd_place(place.where) ? open_etcd(place, *state) : open_log(place, *state);
    if (!opened.ok()) return said(opened);
    const auto take = [&] { return take_lead(*state->store, std::max(1u, random())); };
    auto kept = take();
    for (int tries = 1; !kept && may_pass(kept.status().code()) && !place.standby && tries < kTries; ++tries)
      kept = take();
    if (kept) {
      state->kept = *std::move(kept);
      if (state->lead) state->lead->set_term(state->kept.lead);
      return state;
    }
    if (!place.standby || !may_pass(kept.status().code())) return said(kept.status());
    state.reset();
    if (place.waiting && !place.waiting(clock.now() - begun, "etcd: " + kept.status().message()))
      return waited_enough();
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace thalweg
