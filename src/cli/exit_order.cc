#include "cli/exit_order.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace thalweg {

ExitOrder::ExitOrder() : queue_(epoll_create1(EPOLL_CLOEXEC)) {}

ExitOrder::~ExitOrder() {
  for (const Watched& process : watched_) close(process.fd);
  if (queue_ >= 0) close(queue_);
}

void ExitOrder::watch(pid_t pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = watched_.size();
  watched_.push_back({pid, fd});
  epoll_ctl(queue_, EPOLL_CTL_ADD, fd, &event);
}

std::vector<pid_t> ExitOrder::ended() {
  std::vector<pid_t> pids;
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = epoll_wait(queue_, events.data(), static_cast<int>(events.size()), 0);
    if (count <= 0) return pids;
    for (int i = 0; i < count; ++i) {
      pids.push_back(watched_[events[static_cast<std::size_t>(i)].data.u64].pid);
    }
  }
}

}  // namespace thalweg
