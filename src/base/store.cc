#include "thalweg/store.h"

#include <utility>

#include "base/completion.h"

namespace thalweg {

bool Pending::done() const { return completion_->done; }
Answer Pending::take() {
  if (!done())
    return {{Code::kUsage, "a request's answer is taken before it is done; await it instead"}, {}, {}};
  return std::move(completion_->answer);
}
void Pending::forget() const {
  if (completion_->noted_by && completion_->noted_by->ok())
    *completion_->noted_by = completion_->answer.status;
}

Pending::Waiting::~Waiting() {
  if (waits_) completion_->waiter = {};
}
bool Pending::Waiting::await_ready() const { return completion_->done; }
void Pending::Waiting::await_suspend(std::coroutine_handle<> waiter) {
  completion_->waiter = waiter;
  waits_ = true;
}
Answer Pending::Waiting::await_resume() {
  waits_ = false;
  return std::move(completion_->answer);
}

Task<Answer> push_pull(Store& store, TableId table, Keys keys, Rows grads) {
  Pending pushed = store.push(table, keys, std::move(grads));
  if (pushed.done()) {
    Answer refused = co_await pushed;
    if (!refused.status.ok()) co_return refused;
  }
  Pending advanced = store.advance();
  Pending pulled = store.pull(table, std::move(keys));
  Answer end = co_await advanced;
  if (!end.status.ok()) co_return end;
  co_return co_await pulled;
}

}  // namespace thalweg
