// Vector clocks: which events of which participants one has seen (Fidge 1988, Mattern 1989; for versions of
// values as in Dynamo, SOSP 2007, section 4.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace thalweg {

// How one clock stands to another.
enum class ClockOrder : std::uint8_t { kSame, kBefore, kAfter, kConcurrent };

class VectorClock {
 public:
  using Actor = std::uint64_t;
  using Entries = std::map<Actor, std::uint64_t>;  // None is 0.

  VectorClock() = default;
  explicit VectorClock(Entries entries) : entries_(std::move(entries)) {
    std::erase_if(entries_, [](const auto& entry) { return entry.second == 0; });
  }

  // How many of the actor's events have been seen; 0: none.
  std::uint64_t at(Actor actor) const;
  // One more event of the actor, whose number is returned.
  std::uint64_t tick(Actor actor) { return ++entries_[actor]; }
  // The actor's first `count` events have been seen, and whatever else has been.
  void see(Actor actor, std::uint64_t count);
  // What either has seen.
  void merge(const VectorClock& other);
  bool covers(const VectorClock& other) const;
  const Entries& entries() const { return entries_; }
  bool operator==(const VectorClock&) const = default;

 private:
  Entries entries_;
};

// kBefore: `b` has seen all that `a` has, and more.
ClockOrder compare(const VectorClock& a, const VectorClock& b);

}  // namespace thalweg
