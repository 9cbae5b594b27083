// Virtual time: events in order of (moment, number), so that one seed has one order.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "base/instant.h"

namespace thalweg::sim {

struct Event {
  enum class Kind : std::uint8_t { kFrame, kLink, kInbox, kTimer, kAction } kind{};
  std::uint32_t place = 0;  // Frame, link, action: slot. Inbox, timer: process.
};

class EventQueue {
 public:
  void push(Instant at, Event event) { heap_.push({at, next_++, event}); }
  bool empty() const { return heap_.empty(); }
  Instant next_at() const { return heap_.top().at; }  // Precondition: not empty.
  Event pop() {
    const Event event = heap_.top().event;
    heap_.pop();
    return event;
  }

 private:
  struct Entry {
    Instant at;
    std::uint64_t number;
    Event event;
    bool operator<(const Entry& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  std::priority_queue<Entry> heap_;
  std::uint64_t next_ = 0;
};

// Things by number; numbers are used again. A T that was moved from holds nothing.
template <class T>
class Slots {
 public:
  std::uint32_t put(T thing) {
    if (free_.empty()) {
      things_.push_back(std::move(thing));
      return static_cast<std::uint32_t>(things_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    things_[slot] = std::move(thing);
    return slot;
  }
  // The number of one that holds nothing yet.
  std::uint32_t put_empty() {
    if (free_.empty()) return put(T());
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  T& operator[](std::uint32_t slot) { return things_[slot]; }
  T take(std::uint32_t slot) {
    free_.push_back(slot);
    return std::move(things_[slot]);
  }

 private:
  std::vector<T> things_;
  std::vector<std::uint32_t> free_;
};

}  // namespace thalweg::sim
