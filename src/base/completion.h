// How a request ends for the program that waits for it: shared between the store and the waiter.
#pragma once

#include <coroutine>
#include <memory>
#include <utility>

#include "thalweg/store.h"

namespace thalweg {

struct Completion : std::enable_shared_from_this<Completion> {
  static Pending pending(std::shared_ptr<Completion> completion) { return Pending(std::move(completion)); }
  // Of a request that is over as soon as it is made.
  static Pending ended(Answer answer) {
    auto completion = std::make_shared<Completion>();
    completion->done = true;
    completion->answer = std::move(answer);
    return pending(std::move(completion));
  }
  static std::shared_ptr<Completion> of(const Pending& request) { return request.completion_; }

  bool done = false;
  Answer answer;
  // Resumed, once, by the store's own thread; null: nobody waits, or is there any more.
  std::coroutine_handle<> waiter;
  std::shared_ptr<Status> noted_by;  // Of a refusal, see Refusals.
};

// Requests that a store refuses at once, which leave no trace in it. One that nobody awaits fails what comes
// next; the program that awaits it may go on.
class Refusals {
 public:
  Pending refuse(Status why) const {
    Pending refused = Completion::ended({std::move(why), {}, {}});
    Completion::of(refused)->noted_by = first_;
    return refused;
  }
  // The first that was not awaited; OK: none was.
  const Status& forgotten() const { return *first_; }

 private:
  std::shared_ptr<Status> first_ = std::make_shared<Status>();
};

}  // namespace thalweg
