// Ctrl-C: once to save and stop, twice to stop now.
#pragma once

#include <atomic>

namespace thalweg {

// Handles SIGINT and SIGTERM: the first sets the flag, the second ends the process with exit code 130.
// The flag lives as long as the process. Call once, before threads start.
const std::atomic<bool>& catch_interrupts();

}  // namespace thalweg
