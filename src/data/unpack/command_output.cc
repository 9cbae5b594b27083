#include "data/unpack/command_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "data/unpack/shell_word.h"

namespace thalweg {
namespace {

constexpr std::size_t kWordsKept = 4096;
constexpr int kPipeBytes = 1 << 20;  // What it may write before any of it is read.

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
  process_.kill();  // Before it finds that nobody listens.
  close_end(output_);
  close_end(errors_);
}

Status CommandOutput::spawn() {
  int output[2] = {-1, -1}, errors[2] = {-1, -1};
  int failed = ::pipe2(output, O_CLOEXEC) == 0 && ::pipe2(errors, O_CLOEXEC) == 0 ? 0 : errno;
  output_ = output[0], errors_ = errors[0];
  ::fcntl(output_, F_SETPIPE_SZ, kPipeBytes);  // Where it may be as large.
  if (failed == 0) failed = process_.start(line_, output[1], errors[1]);
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

// A pipe is full at the latest when each of its pages is a little more than half full.
bool CommandOutput::held_up_for(std::chrono::nanoseconds time) const {
  pollfd output{output_, POLLIN, 0};
  int waiting = 0;
  return Clock::now() - started_ >= time && ::poll(&output, 1, 0) >= 0 && (output.revents & POLLHUP) == 0 &&
         ::ioctl(output_, FIONREAD, &waiting) == 0 && waiting >= ::fcntl(output_, F_GETPIPE_SZ) / 2;
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
    if (process_.ended(how)) return {};
    if (Clock::now() >= deadline) return too_late("has ended its output, and has not ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status CommandOutput::end() {
  int how = 0;
  if (Status status = wait_for_end(how); !status.ok()) return status;
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
