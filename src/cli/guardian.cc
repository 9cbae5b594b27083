#include "cli/guardian.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "cli/own_children.h"

namespace thalweg {
namespace {

constexpr int kGuardianLooksEveryMs = 20;
constexpr int kReturnedMax = 4096;  // A write to a pipe that is not larger is not cut.
constexpr std::chrono::seconds kPatience{10};

struct Pipe {
  int from = -1;
  int to = -1;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) == 0) return Pipe{ends[0], ends[1]};
  return Status(Code::kIo, fmt::format("no pipe: {}", std::strerror(errno)));
}

void shut(int& descriptor) {
  if (descriptor >= 0) close(std::exchange(descriptor, -1));
}

// Ends the children of this process, and those who fall to it for that, but for `spared`. Nobody else reaps
// them, so their numbers stay theirs.
void end_children(const std::vector<pid_t>& spared) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    bool any = false;
    for (const pid_t child : own_children()) {
      if (std::find(spared.begin(), spared.end(), child) != spared.end()) continue;
      any = true;
      kill(child, SIGKILL);
      waitpid(child, nullptr, WNOHANG);
    }
    if (!any) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Reaps what has fallen to this process; whether `work` is among it.
bool reap(pid_t work) {
  bool over = false;
  for (pid_t ended = 0; (ended = waitpid(-1, nullptr, WNOHANG)) > 0;) over = over || ended == work;
  return over;
}

// Until the work has ended, or nobody holds the other end of `orders` any more.
void guard(int orders, pid_t work) {
  for (bool over = false; !over; over = reap(work)) {
    pollfd parent{orders, POLLIN, 0};
    if (poll(&parent, 1, kGuardianLooksEveryMs) <= 0) continue;
    char order = 0;
    if (read(orders, &order, 1) <= 0) break;
    kill(work, SIGTERM);
  }
  end_children({});
}

[[noreturn]] void become_work(pid_t guardian, int result, const std::function<std::string()>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guardian) _exit(1);
  const std::string text = work().substr(0, kReturnedMax);
  _exit(write(result, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

[[noreturn]] void become_guardian(int orders, int result, const std::function<std::string()>& work) {
  setpgid(0, 0);  // The terminal's Ctrl-C is the parent's to answer.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t guardian = getpid();
  const pid_t process = fork();
  if (process == 0) become_work(guardian, result, work);
  if (process < 0) _exit(1);
  close(result);
  guard(orders, process);
  _exit(0);
}

// What the work returns. Passes on, once, that it is to stop.
std::string read_result(int from, int orders, const std::atomic<bool>& stop) {
  std::string text;
  std::array<char, kReturnedMax> block{};
  for (bool told = false;;) {
    pollfd ready{from, POLLIN, 0};
    const int found = poll(&ready, 1, kGuardianLooksEveryMs);
    told = told || (stop && write(orders, "", 1) == 1);
    if (found <= 0) continue;
    const ssize_t got = read(from, block.data(), block.size());
    if (got == 0) return text;
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<std::string> run_guarded(const std::atomic<bool>& stop, const std::function<std::string()>& work) {
  Result<Pipe> orders = make_pipe(), result = make_pipe();
  if (!orders) return orders.status();
  if (!result) return result.status();
  const std::vector<pid_t> others = own_children();
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // Of the guardian, too.
  const pid_t guardian = fork();
  if (guardian == 0) {
    shut(orders->to);
    shut(result->from);
    become_guardian(orders->from, result->to, work);
  }
  const int error = errno;
  shut(result->to);
  std::string text;
  if (guardian > 0) {
    text = read_result(result->from, orders->to, stop);
    end_children(others);  // The guardian, and what falls to this process for that.
  }
  shut(orders->from);
  shut(orders->to);
  shut(result->from);
  if (guardian < 0) return Status(Code::kIo, fmt::format("cannot start a process: {}", std::strerror(error)));
  if (text.empty()) return Status(Code::kIo, "the process that watches the others was ended; so were they");
  return text;
}

}  // namespace thalweg
