// A queue that several threads take from, whose items each have a thread where they are at home: what they
// work on lies in that one's cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

namespace thalweg {

// Not thread-safe.
template <class T>
class HomeQueue {
 public:
  // So many come before the item that waits longest, at most.
  static constexpr std::size_t kPassedMax = 8;

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  // `home` counts on beyond the number of threads.
  void push(T item, std::size_t home) { waiting_.push_back({item, home}); }
  // The first that is at home on this one of `threads` threads, or the first of all: no thread is idle while
  // there is something to do. Precondition: not empty.
  T take(std::size_t self, std::size_t threads) {
    auto taken = waiting_.begin();
    if (taken->passed < kPassedMax) {
      const auto at_home = [&](const Waiting& one) { return one.home % threads == self; };
      const auto mine = std::find_if(taken, waiting_.end(), at_home);
      if (mine != waiting_.end() && mine != taken) ++taken->passed, taken = mine;
    }
    const T item = taken->item;
    waiting_.erase(taken);
    return item;
  }

 private:
  struct Waiting {
    T item;
    std::size_t home = 0;
    std::size_t passed = 0;  // By others that came later.
  };
  std::deque<Waiting> waiting_;
};

}  // namespace thalweg
