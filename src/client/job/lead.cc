#include "client/job/lead.h"

namespace thalweg {

Result<std::unique_ptr<Lead>> Lead::take(std::unique_ptr<StateStore>& store, const std::string& words,
                                         Duration length) {
  auto lease = LeadLease::take(*store, words, length);
  if (!lease) return lease.status();
  std::unique_ptr<Lead> lead(new Lead(std::move(store), *std::move(lease), length));
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
  lease_.end(*store_);
}

bool Lead::in_doubt() const { return in_doubt_ || clock_.now() - Instant{told_ns_} > length_ / 3 * 2; }

void Lead::set_term(StateGuard term) {
  const std::lock_guard lock(mutex_);
  term_ = std::move(term);
}

void Lead::keep() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, length_ / 3, [this] { return over_; })) {
    const std::optional<StateGuard> term = term_;
    lock.unlock();
    lease_.keep(*store_, term);
    if (!lease_.in_doubt()) told_ns_ = clock_.now().ns;
    in_doubt_ = lease_.in_doubt();
    lost_ = lease_.lost();
    lock.lock();
    if (lost_) return;
  }
}

}  // namespace thalweg
