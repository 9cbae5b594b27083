// A request that a coroutine answers: it runs at once until it waits, and ends the request when it returns.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>

#include "base/completion.h"
#include "thalweg/task.h"

namespace thalweg {

// Owns the coroutine. May be destroyed by whoever waits for the request, as soon as it has been answered.
class RequestTask {
 public:
  struct promise_type {
    std::shared_ptr<Completion> completion = std::make_shared<Completion>();

    RequestTask get_return_object() {
      return RequestTask(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Answered {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
          Completion& request = *self.promise().completion;
          request.done = true;
          const auto waiter = std::exchange(request.waiter, {});
          return waiter ? waiter : std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return Answered{};
    }
    void return_value(Answer answer) { completion->answer = std::move(answer); }
    void unhandled_exception() { std::terminate(); }
  };

  static RequestTask begin(Task<Answer> work) { co_return co_await work; }
  RequestTask(RequestTask&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  RequestTask& operator=(RequestTask&&) = delete;
  ~RequestTask() {
    if (handle_) handle_.destroy();
  }
  bool done() const { return handle_.done(); }
  Pending pending() const { return Completion::pending(handle_.promise().completion); }

 private:
  explicit RequestTask(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace thalweg
