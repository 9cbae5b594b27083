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
std::atomic<pid_t> answering_parent{0};            // 0: this process answers signals itself.
constexpr unsigned kAnswerWithin_s = 30;           // A checkpoint is given 20.
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// One that has ended answers nothing any more, and this process has another parent then.
bool parent_answers() {
  const pid_t parent = answering_parent;
  return parent != 0 && getppid() == parent;
}

extern "C" void on_answer_due(int) {
  if (!parent_answers()) stop_requested = true;
}

extern "C" void on_interrupt(int) {
  constexpr int kInterrupted = 130;
  const std::int64_t now = now_ns();
  std::int64_t asked = 0;
  if (asked_at_ns.compare_exchange_strong(asked, now)) {
    if (answering_parent == 0) {
      stop_requested = true;
    } else {
      alarm(kAnswerWithin_s);  // Whoever takes the job up in the parent's place may answer as well.
    }
    return;
  }
  if (now - asked < kOneWish_ns) return;
  int before = kNobody;
  const char* text = speaker.compare_exchange_strong(before, kHandler) ? last_said.load() : "";
  if (before == kHandler || (before == kProgram && now - spoke_at_ns < kOneWish_ns)) return;
  if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(kInterrupted);  // Nobody listens.
  _exit(kInterrupted);
}

void handle_unless_ignored(int signal) {
  if (!is_ignored(signal)) handle_signal(signal, &on_interrupt);
}

}  // namespace

void handle_signal(int signal, void (*how)(int)) {
  struct sigaction action = {};
  action.sa_handler = how;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

void take_last_words() {
  spoke_at_ns = now_ns();
  int before = kNobody;
  if (speaker.compare_exchange_strong(before, kProgram) || before == kProgram) return;
  for (;;) pause();  // The handler ends the process.
}

const std::atomic<bool>& catch_own_interrupts() {
  handle_unless_ignored(SIGINT);
  handle_signal(SIGTERM, &on_interrupt);
  handle_unless_ignored(SIGHUP);  // nohup stays in force.
  return stop_requested;
}

const std::atomic<bool>& catch_node_interrupts() {
  if (is_ignored(SIGTERM)) {
    handle_signal(SIGALRM, &on_answer_due);
    answering_parent = getppid();
  }
  return catch_own_interrupts();
}

const std::atomic<bool>& catch_interrupts(const char* last_words) {
  last_said = last_words;
  handle_signal(SIGINT, &on_interrupt);
  return catch_own_interrupts();
}

}  // namespace thalweg
