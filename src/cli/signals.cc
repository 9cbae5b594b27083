#include "cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace thalweg {
namespace {

// A handler can reach static storage alone.
std::atomic<bool> stop_requested{false};
std::atomic<const char*> last_said{""};
std::atomic<std::int64_t> asked_at_ns{0};
enum Speaker : int { kNobody, kHandler, kProgram };
std::atomic<int> speaker{kNobody};  // Of the last words on standard output.
std::atomic<std::int64_t> spoke_at_ns{0};
constexpr std::int64_t kOneWish_ns = 500'000'000;  // timeout(1) signals a process and then its group.
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

extern "C" void on_interrupt(int) {
  constexpr int kInterrupted = 130;
  const std::int64_t now = now_ns();
  std::int64_t asked = 0;
  if (asked_at_ns.compare_exchange_strong(asked, now)) {
    stop_requested = true;
    return;
  }
  if (now - asked < kOneWish_ns) return;
  int before = kNobody;
  const char* text = speaker.compare_exchange_strong(before, kHandler) ? last_said.load() : "";
  if (before == kHandler || (before == kProgram && now - spoke_at_ns < kOneWish_ns)) return;
  if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(kInterrupted);  // Nobody listens.
  _exit(kInterrupted);
}

void handle(int signal) {
  struct sigaction action = {};
  action.sa_handler = &on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void handle_unless_ignored(int signal) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  if (now.sa_handler != SIG_IGN) handle(signal);
}

}  // namespace

void take_last_words() {
  spoke_at_ns = now_ns();
  int before = kNobody;
  if (speaker.compare_exchange_strong(before, kProgram) || before == kProgram) return;
  for (;;) pause();  // The handler ends the process.
}

const std::atomic<bool>& catch_own_interrupts() {
  handle_unless_ignored(SIGINT);
  handle(SIGTERM);
  handle_unless_ignored(SIGHUP);  // nohup stays in force.
  return stop_requested;
}

const std::atomic<bool>& catch_interrupts(const char* last_words) {
  last_said = last_words;
  handle(SIGINT);
  return catch_own_interrupts();
}

}  // namespace thalweg
