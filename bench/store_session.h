// A job of one table whose scheduler and server run in a child process, and its worker here, over TCP.
#pragma once

#include <functional>

#include "net/real_clock.h"
#include "net/tcp/tcp.h"
#include "thalweg/store.h"
#include "worker/worker.h"

namespace thalweg::bench {

class StoreSession {
 public:
  // Starts the child. Call before any thread exists.
  StoreSession(const TableSpec& table, Duration spin);
  ~StoreSession();
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;

  // Seconds that `work` takes as the program of the only data shard. A failure ends the process.
  double time(const std::function<Task<Status>(Store&)>& work);
  Instant now() const { return driver_.now(); }

 private:
  RealClock clock_;
  Worker worker_;
  Tcp driver_;
  int child_ = 0;
};

}  // namespace thalweg::bench
