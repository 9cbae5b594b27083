#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

namespace thalweg {
namespace {

// A handler can reach static storage alone.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  constexpr int kInterrupted = 130;
  if (stop_requested.exchange(true)) _exit(kInterrupted);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = &on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return stop_requested;
}

}  // namespace thalweg
