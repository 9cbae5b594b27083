#include "data/unpack/command_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "data/unpack/shell_word.h"

extern char** environ;

namespace thalweg {
namespace {

constexpr std::size_t kWordsKept = 4096;

// For poll(); 0: it is past.
int milliseconds_until(std::chrono::steady_clock::time_point moment) {
  constexpr std::int64_t kMostAtOnce = 60'000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(moment - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kMostAtOnce));
}

void close_end(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

// /bin/sh -c LINE in a process group of its own, nothing to read; an errno.
int spawn_shell(const std::string& line, int output, int errors, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh", flag = "-c", text = line;
  char* const words[] = {shell.data(), flag.data(), text.data(), nullptr};
  const int failed = ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

Result<std::unique_ptr<CommandOutput>> CommandOutput::start(const SourceCommand& source,
                                                            const std::string& name) {
  const std::string& command = source.line;
  std::string line;
  std::size_t from = 0;
  for (std::size_t at = command.find("%s"); at != command.npos; at = command.find("%s", from)) {
    line += command.substr(from, at - from) + quoted_for_shell(name);
    from = at + 2;
  }
  line += command.substr(from);
  std::unique_ptr<CommandOutput> started(new CommandOutput(name, std::move(line), source.timeout));
  if (const Status status = started->spawn(); !status.ok()) return status;
  return started;
}

CommandOutput::~CommandOutput() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  close_end(output_);
  close_end(errors_);
}

Status CommandOutput::spawn() {
  int output[2] = {-1, -1}, errors[2] = {-1, -1};
  int failed = ::pipe2(output, O_CLOEXEC) == 0 && ::pipe2(errors, O_CLOEXEC) == 0 ? 0 : errno;
  output_ = output[0], errors_ = errors[0];
  if (failed == 0) failed = spawn_shell(line_, output[1], errors[1], pid_);
  if (failed != 0) pid_ = -1;
  close_end(output[1]);
  close_end(errors[1]);
  if (failed == 0) return {};
  return {Code::kIo, fmt::format("{}: cannot run {}: {}", name_, line_, std::strerror(failed))};
}

// Hears what the command complains of meanwhile, so that it is never held up by that.
Status CommandOutput::wait_for_output() {
  const Clock::time_point deadline = Clock::now() + timeout_;
  for (;;) {
    pollfd ends[] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
    const int ready = ::poll(ends, 2, milliseconds_until(deadline));
    if (ready < 0 && errno != EINTR) {
      return {Code::kIo, fmt::format("{}: cannot wait for {}: {}", name_, line_, std::strerror(errno))};
    }
    if (ready > 0 && ends[1].revents != 0) hear_errors();
    if (ready > 0 && ends[0].revents != 0) return {};
    if (Clock::now() >= deadline) return too_late("has written nothing");
  }
}

Status CommandOutput::too_late(const char* what) const {
  return {Code::kTimeout,
          fmt::format("{}: the command {} for {:g} s{}: {}\nhint: a longer --command-timeout waits longer",
                      name_, what, std::chrono::duration<double>(timeout_).count(), last_words(), line_)};
}

void CommandOutput::hear_errors() {
  char heard[kWordsKept];
  const ssize_t count = ::read(errors_, heard, sizeof heard);
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) return close_end(errors_);
  said_.append(heard, static_cast<std::size_t>(count));
  if (said_.size() > kWordsKept) said_.erase(0, said_.size() - kWordsKept);
}

Result<std::size_t> CommandOutput::read(char* to, std::size_t size) {
  while (output_ >= 0) {
    if (const Status status = wait_for_output(); !status.ok()) return status;
    const ssize_t count = ::read(output_, to, size);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Status(Code::kIo,
                    fmt::format("{}: cannot read from {}: {}", name_, line_, std::strerror(errno)));
    }
    close_end(output_);
    if (const Status status = end(); !status.ok()) return status;
  }
  return std::size_t{0};
}

// Of its output there is an end already.
Status CommandOutput::wait_for_end(int& how) {
  const Clock::time_point deadline = Clock::now() + timeout_;
  while (errors_ >= 0) {
    pollfd errors{errors_, POLLIN, 0};
    if (::poll(&errors, 1, milliseconds_until(deadline)) > 0) hear_errors();
    if (errors_ >= 0 && Clock::now() >= deadline) return too_late("has ended its output, and has not ended");
  }
  for (;;) {
    const pid_t ended = ::waitpid(pid_, &how, WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) return {};
    if (Clock::now() >= deadline) return too_late("has ended its output, and has not ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status CommandOutput::end() {
  int how = 0;
  if (Status status = wait_for_end(how); !status.ok()) return status;
  pid_ = -1;
  if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return {};
  const std::string ended = WIFEXITED(how) ? fmt::format("exit code {}", WEXITSTATUS(how))
                                           : fmt::format("signal {}", WTERMSIG(how));
  return {Code::kIo, fmt::format("{}: the command ended with {}{}: {}", name_, ended, last_words(), line_)};
}

std::string CommandOutput::last_words() const {
  const std::size_t last = said_.find_last_not_of(" \t\r\n");
  if (last == said_.npos) return "";
  const std::size_t before = said_.find_last_of("\r\n", last);
  const std::size_t begin = before == said_.npos ? 0 : before + 1;
  return fmt::format(", saying \"{}\"", said_.substr(begin, last + 1 - begin));
}

}  // namespace thalweg
