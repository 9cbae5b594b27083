// How a request ends for the program that waits for it: shared between the store and the waiter.
#pragma once

#include <coroutine>

#include "thalweg/store.h"

namespace thalweg {

struct Completion {
  bool done = false;
  Answer answer;
  std::coroutine_handle<> waiter;  // Resumed, once, by the store's own thread.
};

}  // namespace thalweg
