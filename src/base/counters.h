// What nodes count, by number: who does not know a number passes over it, so that one more counter changes no
// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace thalweg {

// A number that was once in use is never given another meaning.
enum class CounterId : std::uint16_t {
  kRows = 1,          // Stored by a server's tables.
  kTableBytes = 2,    // Allocated by them.
  kStalenessMax = 3,  // Steps that the shard of an answered pull led the slowest one, at most.
  kPulls = 4,         // Frames that came to a server.
  kPushes = 5,
  kPushBytes = 6,  // Of those frames.
  kRepeats = 7,    // Pushes that a server answered and did not apply.
  kSentBytes =
      8,  // Of pushes, pulls and the answers to both, each time that a node sends one; between shards.
  kStalenessSum = 9,     // Of the steps that shards of answered pulls led the slowest one; a repeat is none.
  kShardTimeNs = 10,     // Of programs of data shards, from their begin to their latest halt.
  kShardWaitNs = 11,     // Of that, in which one waits for an answer that has not come, or other shards.
  kPushesDropped = 12,   // Pushes that came when their step had closed.
  kPushValueBytes = 13,  // Of pushes that came to a server: their values.
  kCopyValueBytes = 14,  // Of changes that a server sent to the next of a chain: their values, each once.
  kLeadFirst = 64,       // Answered pulls by their lead, see lead_counter().
  kLeadLast = 153,
};
inline constexpr CounterId kCounterLast = CounterId::kLeadLast;
inline constexpr std::size_t kLeadCounters = 90;

// Which counter has pulls whose shard led by so many steps: one each below 64, then one for each power of
// two.
CounterId lead_counter(std::uint32_t lead);
// The smallest and the largest lead that a counter has. Precondition: kLeadFirst to kLeadLast.
std::pair<std::uint32_t, std::uint32_t> leads_of(CounterId counter);

class Counters {
 public:
  // 0 where nothing was counted.
  std::uint64_t operator[](CounterId id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? 0 : found->second;
  }
  // Counts `more` in: the larger of both where the counter is a maximum, else their sum.
  void count(CounterId id, std::uint64_t more);
  // Counts in all of `other` whose meaning is known here.
  void count(const Counters& other);
  // As it was counted elsewhere, whether its meaning is known or not.
  void set(CounterId id, std::uint64_t value) { values_[id] = value; }
  const std::map<CounterId, std::uint64_t>& values() const { return values_; }
  bool operator==(const Counters&) const = default;

 private:
  std::map<CounterId, std::uint64_t> values_;
};

}  // namespace thalweg
