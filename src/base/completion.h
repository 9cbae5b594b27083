// How a request ends for the program that waits for it: shared between the store and the waiter.
#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "thalweg/store.h"

namespace thalweg {

struct Completion : std::enable_shared_from_this<Completion> {
  static Pending pending(std::shared_ptr<Completion> completion) { return Pending(std::move(completion)); }
  static std::shared_ptr<Completion> of(const Pending& request) { return request.completion_; }

  bool done = false;
  Answer answer;
  // Resumed, once, by the store's own thread; null: nobody waits, or is there any more.
  std::coroutine_handle<> waiter;
};

}  // namespace thalweg
