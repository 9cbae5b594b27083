// A state store of several processes, in memory, whose leases end when the test says so.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/state_store.h"
#include "scheduler/lead_lease.h"

namespace thalweg {

// What several processes have. `Mutex`: where they are threads.
template <class Mutex>
struct SharedStateOf {
  Mutex mutex;
  std::map<std::string, std::pair<StateEntry, StateLease>, std::less<>> entries;
  std::set<StateLease> leases;
  StateLease last = 0;
  bool away = false;  // Nobody is answered.
  std::uint64_t revision = 0;
  std::size_t renewed = 0;

  void end_leases() {
    const std::lock_guard lock(mutex);
    leases.clear();
    std::erase_if(entries, [](const auto& one) { return one.second.second != 0; });
  }
  std::string leader() {
    const std::lock_guard lock(mutex);
    const auto at = entries.find(kLeadKey);
    return at == entries.end() ? "nobody" : at->second.first.value;
  }
  std::size_t renewals() {
    const std::lock_guard lock(mutex);
    return renewed;
  }
};

template <class Mutex>
class StoreOf final : public StateStore {
 public:
  explicit StoreOf(SharedStateOf<Mutex>& state) : state_(state) {}
  Result<StateView> get(std::string_view prefix) override {
    const std::lock_guard lock(state_.mutex);
    StateView view{{}, state_.revision};
    for (const auto& [key, held] : state_.entries) {
      if (key.starts_with(prefix)) view.entries[key] = held.first;
    }
    return view;
  }
  Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                             StateLease lease) override {
    const std::lock_guard lock(state_.mutex);
    if (lease != 0 && !state_.leases.contains(lease)) return Status(Code::kRefused, "ended");
    for (const StateGuard& guard : guards) {
      const auto at = state_.entries.find(guard.key);
      if ((at == state_.entries.end() ? 0 : at->second.first.revision) != guard.revision)
        return Status(Code::kStale, guard.key);
    }
    ++state_.revision;
    for (const StateChange& change : changes)
      state_.entries[change.key] = {{*change.value, state_.revision}, lease};
    return state_.revision;
  }
  Result<std::vector<StateEvent>> watch(std::string_view, std::uint64_t, Duration) override {
    return std::vector<StateEvent>();
  }
  Result<StateLease> grant(Duration) override {
    const std::lock_guard lock(state_.mutex);
    state_.leases.insert(++state_.last);
    return state_.last;
  }
  Status renew(StateLease lease) override {
    const std::lock_guard lock(state_.mutex);
    ++state_.renewed;
    if (state_.away) return Status(Code::kTimeout, "no answer");
    return state_.leases.contains(lease) ? ok_status() : Status(Code::kRefused, "ended");
  }
  Status revoke(StateLease lease) override {
    const std::lock_guard lock(state_.mutex);
    state_.leases.erase(lease);
    std::erase_if(state_.entries, [&](const auto& one) { return one.second.second == lease; });
    return ok_status();
  }

 private:
  SharedStateOf<Mutex>& state_;
};

}  // namespace thalweg
