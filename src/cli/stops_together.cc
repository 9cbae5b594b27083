#include "cli/stops_together.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "base/check.h"
#include "cli/own_children.h"
#include "cli/signals.h"

namespace thalweg {
namespace {

std::atomic<int> signalled{-1};  // A handler can reach static storage alone.

extern "C" void on_stop_wanted(int) {
  const int error = errno;
  if (const int to = signalled; to >= 0) (void)!write(to, "", 1);
  errno = error;
}

void stop_all() {
  const std::vector<pid_t> children = own_children();
  for (const pid_t child : children) kill(child, SIGSTOP);
  raise(SIGSTOP);  // To this thread: it does not go on before the process does.
  for (const pid_t child : children) kill(child, SIGCONT);
}

}  // namespace

StopsTogether::StopsTogether() {
  if (is_ignored(SIGTSTP) || pipe2(signals_.data(), O_CLOEXEC) != 0) return;
  THALWEG_CHECK(signalled.exchange(signals_[1]) < 0, "one at a time");
  watcher_ = std::thread([this] { watch(); });
  handle_signal(SIGTSTP, &on_stop_wanted);
}

StopsTogether::~StopsTogether() {
  if (!watcher_.joinable()) return;
  handle_signal(SIGTSTP, SIG_DFL);
  signalled = -1;
  close(signals_[1]);
  watcher_.join();
  close(signals_[0]);
}

void StopsTogether::watch() const {
  char one = 0;
  for (ssize_t got = 0; (got = read(signals_[0], &one, 1)) != 0;) {
    if (got > 0) stop_all();
  }
}

}  // namespace thalweg
