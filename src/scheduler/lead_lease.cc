#include "scheduler/lead_lease.h"

#include <span>
#include <vector>

#include "base/coverage/reached.h"
#include "base/planted.h"

namespace thalweg {

Result<LeadLease> LeadLease::take(StateStore& store, std::string words, Duration length) {
  const auto before = store.get(kLeadKey);
  if (!before) return before.status();
  if (const auto held = before->entries.find(kLeadKey); held != before->entries.end())
    return Status(Code::kRetry, held->second.value);
  const auto lease = store.grant(length);
  if (!lease) return lease.status();
  const StateGuard nobody{kLeadKey, 0};
  const StateChange change{kLeadKey, words};
  const Status led = store.swap(std::span(&nobody, 1), std::span(&change, 1), *lease).status();
  if (led.ok()) return LeadLease(*lease, std::move(words), length);
  (void)store.revoke(*lease);  // Else it ends by itself.
  if (led.code() != Code::kStale) return led;
  return Status(Code::kRetry, "another scheduler, since just now,");
}

void LeadLease::keep(StateStore& store, const std::optional<StateGuard>& term) {
  if (lost_) return;
  const Code renewed = lease_ == 0 ? Code::kRefused : store.renew(lease_).code();
  if (renewed == Code::kRefused && !THALWEG_BUG(kLeaseEndIgnored)) regain(store, term);
  in_doubt_ = renewed != Code::kOk && (renewed != Code::kRefused || lease_ == 0);
}

// A lease that has ended, of a process that was paused or whose store was away, while nobody else has led.
void LeadLease::regain(StateStore& store, const std::optional<StateGuard>& term) {
  lease_ = 0;
  if (term) {
    const auto now = store.get(term->key);
    if (!now) return;
    const auto is = now->entries.find(term->key);
    const std::uint64_t revision = is == now->entries.end() ? 0 : is->second.revision;
    lost_ = revision > term->revision;
    if (revision != term->revision) return;  // Where it has gone back, whoever writes there finds out.
  }
  const auto lease = store.grant(length_);
  if (!lease) return;
  std::vector<StateGuard> guards = {{kLeadKey, 0}};
  if (term) guards.push_back(*term);
  const StateChange change{kLeadKey, words_};
  if (!store.swap(guards, std::span(&change, 1), *lease).ok()) {
    (void)store.revoke(*lease);
    return;
  }
  THALWEG_REACHED(kLeadRegained);
  lease_ = *lease;
}

void LeadLease::end(StateStore& store) {
  if (lease_ != 0) (void)store.revoke(lease_);
  lease_ = 0;
}

}  // namespace thalweg
