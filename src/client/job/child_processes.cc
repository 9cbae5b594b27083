#include "client/job/child_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace thalweg {

ChildProcesses::~ChildProcesses() { finish(Duration{0}); }

Status ChildProcesses::start(const std::string& program, const std::vector<std::string>& arguments,
                             std::span<const int> handed, End end) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return {Code::kIo, fmt::format("cannot start {}: {}", program, std::strerror(errno))};
  if (pid == 0) {
    if (end == End::kByItself) {
      setsid();
    } else {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);  // The parent ended before it could be watched.
    }
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    signal(SIGTERM, SIG_IGN);  // Whoever signals all processes of a job means its end, which is the parent's.
    for (const int descriptor : handed) fcntl(descriptor, F_SETFD, 0);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  const std::string what = arguments.size() > 1 ? arguments[0] + " " + arguments[1] : program;
  children_.push_back({pid, fmt::format("{} (process {})", what, pid), false, false, 0});
  return ok_status();
}

void ChildProcesses::reap() {
  for (Child& child : children_) {
    if (!child.ended && waitpid(child.pid, &child.status, WNOHANG) == child.pid) child.ended = true;
  }
}

std::vector<ChildProcesses::Ended> ChildProcesses::take_ended() {
  reap();
  std::vector<Ended> all;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& child = children_[i];
    if (!child.ended || std::exchange(child.told, true)) continue;
    const bool killed = WIFSIGNALED(child.status);
    const int signal = WTERMSIG(child.status);
    all.push_back({i, child.pid, child.what,
                   killed ? fmt::format("was ended by signal {} ({})", signal, strsignal(signal))
                          : fmt::format("ended with exit code {}", WEXITSTATUS(child.status)),
                   killed});
  }
  return all;
}

void ChildProcesses::finish(Duration patience) {
  const auto all_ended = [&] {
    reap();
    return std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.ended; });
  };
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!all_ended() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (Child& child : children_) {
    if (child.ended) continue;
    kill(child.pid, SIGKILL);
    waitpid(child.pid, &child.status, 0);
    child.ended = true;
  }
}

std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace thalweg
