#include "client/job/lead.h"

#include <fmt/format.h>

#include <span>
#include <vector>

namespace thalweg {

Result<std::unique_ptr<Lead>> Lead::take(std::unique_ptr<StateStore>& store, const std::string& words,
                                         Duration length) {
  const auto before = store->get(kLeadKey);
  if (!before) return before.status();
  if (const auto held = before->entries.find(kLeadKey); held != before->entries.end())
    return Status(Code::kRetry, held->second.value);
  const auto lease = store->grant(length);
  if (!lease) return lease.status();
  const StateGuard nobody{kLeadKey, 0};
  const StateChange change{kLeadKey, words};
  const Status led = store->swap(std::span(&nobody, 1), std::span(&change, 1), *lease).status();
  if (!led.ok()) {
    (void)store->revoke(*lease);  // Else it ends by itself.
    if (led.code() != Code::kStale) return led;
    return Status(Code::kRetry, "another scheduler, since just now,");
  }
  std::unique_ptr<Lead> lead(new Lead(std::move(store), words, length));
  lead->lease_ = *lease;
  lead->thread_ = std::thread([its = lead.get()] { its->keep(); });
  return lead;
}

Lead::~Lead() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }
  thread_.join();
  if (lease_ != 0) (void)store_->revoke(lease_);
}

void Lead::set_term(StateGuard term) {
  const std::lock_guard lock(mutex_);
  term_ = std::move(term);
}

// Thrice within a lease, so that one answer may be lost.
void Lead::keep() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, length_ / 3, [this] { return over_; })) {
    const std::optional<StateGuard> term = term_;
    lock.unlock();
    if (lease_ == 0 || store_->renew(lease_).code() == Code::kRefused) regain(term);
    lock.lock();
    if (lost_) return;
  }
}

// A lease that has ended, of a process that was paused or whose store was away, while nobody else has led.
void Lead::regain(const std::optional<StateGuard>& term) {
  lease_ = 0;
  if (term) {
    const auto now = store_->get(term->key);
    if (!now) return;
    const auto is = now->entries.find(term->key);
    const std::uint64_t revision = is == now->entries.end() ? 0 : is->second.revision;
    lost_ = revision > term->revision;
    if (revision != term->revision) return;  // Where it has gone back, whoever writes there finds out.
  }
  const auto lease = store_->grant(length_);
  if (!lease) return;
  std::vector<StateGuard> guards = {{kLeadKey, 0}};
  if (term) guards.push_back(*term);
  const StateChange change{kLeadKey, words_};
  if (store_->swap(guards, std::span(&change, 1), *lease).ok()) {
    lease_ = *lease;
  } else {
    (void)store_->revoke(*lease);
  }
}

}  // namespace thalweg
