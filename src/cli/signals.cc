#include "cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace thalweg {
namespace {

// A handler can reach static storage alone.
std::atomic<bool> stop_requested{false};
std::atomic<const char*> words{""};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  constexpr int kInterrupted = 130;
  if (!stop_requested.exchange(true)) return;
  const char* text = words;
  if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(kInterrupted);  // Nobody listens.
  _exit(kInterrupted);
}

}  // namespace

const std::atomic<bool>& catch_interrupts(const char* last_words) {
  words = last_words;
  struct sigaction action = {};
  action.sa_handler = &on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup stays in force.
  return stop_requested;
}

}  // namespace thalweg
