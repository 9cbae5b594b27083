// The TCP driver on a thread of its own, for nodes that any thread of the process may look at.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "net/tcp/tcp.h"

namespace thalweg {

class TcpThread {
 public:
  TcpThread(const Clock& clock, TcpOptions options) : tcp_(clock, std::move(options)) {}
  ~TcpThread() { stop(Instant{}); }
  TcpThread(const TcpThread&) = delete;
  TcpThread& operator=(const TcpThread&) = delete;

  // For listening and adding nodes. Precondition: not started.
  Tcp& driver() { return tcp_; }
  void start();
  // Ends the thread, then sends what is queued for connected peers until `deadline`. Precondition: nobody
  // waits here. Does nothing when not running.
  void stop(Instant deadline);

  // While running, from any thread, but not from inside a turn:
  // Runs `act` as a turn of the node.
  void turn(NodeId id, const std::function<void(Instant, Transport&)>& act);
  // Blocks until `done`, asked between turns and no more once it was true, holds; false after `deadline`.
  bool wait_until(const std::function<bool()>& done, Instant deadline = kNever);
  Instant now() const { return tcp_.now(); }

 private:
  struct Waiter {
    const std::function<bool()>* done;
    Instant deadline;
    bool over = false;
    bool held = false;
  };
  void run();
  bool look();

  Tcp tcp_;
  std::thread thread_;
  Instant earliest_ = kNever;  // Of the waiters' deadlines, when the thread last looked; its own.
  std::mutex mutex_;           // Guards what follows.
  std::condition_variable over_;
  std::vector<Waiter*> waiters_;
  bool stopping_ = false;
};

}  // namespace thalweg
