// Processes that do not outlive the one that started them, whatever ends it and whatever they start.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "thalweg/status.h"

namespace thalweg {

// Runs `work` in a process of its own and returns what it returns, at most 4 KiB. A guardian between the two,
// which whatever the work starts and abandons falls to, ends all of it with SIGKILL once the work is done, or
// once this process has ended. When `stop` turns true the work gets SIGTERM, once. kIo when the guardian or
// the work was ended from outside. Precondition: one thread.
Result<std::string> run_guarded(const std::atomic<bool>& stop, const std::function<std::string()>& work);

}  // namespace thalweg
