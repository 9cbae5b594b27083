#include "net/tcp/tcp_thread.h"

#include <algorithm>

#include "base/check.h"

namespace thalweg {

void TcpThread::start() {
  THALWEG_CHECK(!thread_.joinable(), "a driver is started once");
  thread_ = std::thread([this] { run(); });
}

void TcpThread::stop(Instant deadline) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  tcp_.wake();
  thread_.join();
  if (deadline > tcp_.now()) tcp_.flush(deadline);
}

void TcpThread::turn(NodeId id, const std::function<void(Instant, Transport&)>& act) {
  wait_until([&] {
    tcp_.turn(id, act);
    return true;
  });
}

bool TcpThread::wait_until(const std::function<bool()>& done, Instant deadline) {
  THALWEG_CHECK(thread_.joinable() && thread_.get_id() != std::this_thread::get_id(),
                "a running driver is waited for, and by another thread");
  Waiter waiter{&done, deadline};
  std::unique_lock lock(mutex_);
  waiters_.push_back(&waiter);
  tcp_.wake();
  over_.wait(lock, [&] { return waiter.over; });
  return waiter.held;
}

void TcpThread::run() {
  const auto stopping = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  while (!stopping()) {
    tcp_.run_until([this] { return look(); }, earliest_);
  }
}

// Asks each waiter. True when the thread has to stop, or waits for another deadline than before.
bool TcpThread::look() {
  std::vector<Waiter*> waiters;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return true;
    waiters = waiters_;
  }
  const Instant before = std::exchange(earliest_, kNever);
  bool any_over = false;
  for (Waiter* waiter : waiters) {
    const bool held = (*waiter->done)();
    if (!held && tcp_.now() < waiter->deadline) {
      earliest_ = std::min(earliest_, waiter->deadline);
      continue;
    }
    any_over = true;
    const std::lock_guard lock(mutex_);
    waiter->held = held;
    waiter->over = true;
    std::erase(waiters_, waiter);
    over_.notify_all();
  }
  if (any_over) tcp_.wake();  // It may have been a turn for which another waits that was asked before.
  return earliest_ != before;
}

}  // namespace thalweg
