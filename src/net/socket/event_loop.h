// Readiness of sockets and name look-ups on the calling thread. The one place that knows Asio.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "thalweg/status.h"

namespace thalweg {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

class EventLoop {
 public:
  // Watches a socket that stays its owner's; destroyed before the socket is closed. Callbacks come from
  // poll() and wait(), each at most once for each want_...(), and never after destruction.
  class Watch {
   public:
    virtual ~Watch() = default;
    virtual void want_read() = 0;
    virtual void want_write() = 0;
  };

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Null when the operating system refuses to watch one more.
  std::unique_ptr<Watch> watch(int fd, std::function<void()> on_readable, std::function<void()> on_writable);
  // Numeric addresses are answered before it returns. `host` and `port` as getaddrinfo() takes them.
  void resolve(const std::string& host, const std::string& port,
               std::function<void(Result<std::vector<SocketAddress>>)> on_done);
  // Runs the callbacks that are due; whether there were any.
  bool poll();
  // Sleeps until a callback has run or `timeout` has passed, rounded up to a millisecond.
  void wait(Duration timeout);
  // From any thread: ends the present or next wait() as a callback would.
  void wake();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
