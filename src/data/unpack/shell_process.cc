#include "data/unpack/shell_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

extern char** environ;

namespace thalweg {
namespace {

// Of the shell's three streams those that are not told are /dev/null.
struct Streams {
  int input = -1, output = -1, errors = -1;
};

// group 0: one of its own. An errno.
int spawn_shell(const std::string& line, Streams streams, pid_t group, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const auto& [own, to] :
       {std::pair(streams.input, STDIN_FILENO), std::pair(streams.output, STDOUT_FILENO),
        std::pair(streams.errors, STDERR_FILENO)}) {
    if (own >= 0)
      posix_spawn_file_actions_adddup2(&actions, own, to);
    else
      posix_spawn_file_actions_addopen(&actions, to, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, group);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh", flag = "-c", text = line;
  char* const words[] = {shell.data(), flag.data(), text.data(), nullptr};
  const int failed = ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) pid = -1;
  return failed;
}

void wait_for(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

int ShellProcess::start(const std::string& line, int output, int errors) {
  if (const int failed = start_watcher(); failed != 0) return failed;
  return spawn_shell(line, {-1, output, errors}, watcher_, pid_);
}

// It leads the group, so that there is no moment at which the command has nobody who would kill it.
int ShellProcess::start_watcher() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  lifeline_ = ends[1];
  const int failed = spawn_shell("read -r nothing; kill -KILL 0", {ends[0]}, 0, watcher_);
  ::close(ends[0]);
  return failed;
}

void ShellProcess::kill() {
  if (watcher_ > 0) ::kill(pid_ > 0 ? -watcher_ : watcher_, SIGKILL);
  if (pid_ > 0) wait_for(pid_);
  if (watcher_ > 0) wait_for(watcher_);
  if (lifeline_ >= 0) ::close(lifeline_);
  pid_ = watcher_ = lifeline_ = -1;
}

bool ShellProcess::ended(int& how) {
  const pid_t ended = ::waitpid(pid_, &how, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  pid_ = -1;
  return true;
}

}  // namespace thalweg
