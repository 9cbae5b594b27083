// A vector clock for each key, kept by ranges of keys that have always been pushed together (Li et al., OSDI
// 2014, section 4.1): m nodes that push k ranges need no more than m (2k + 1) entries, however many keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "thalweg/ids.h"

namespace thalweg {

// Neighbouring keys, [begin, end). The reserved key is in none.
struct KeyInterval {
  Key begin = 0;
  Key end = 0;
  constexpr bool empty() const { return begin >= end; }
  constexpr bool operator==(const KeyInterval&) const = default;
};

class RangeVectorClock {
 public:
  // The node's push number `time` of all these keys has come. Whether that tells anything new of one of them:
  // who sends it again changes nothing.
  bool see(std::uint32_t node, KeyInterval keys, std::uint64_t time);
  // The newest push by the node that has come of this key, or of the whole interval; 0: none.
  std::uint64_t at(std::uint32_t node, Key key) const;
  std::uint64_t oldest(std::uint32_t node, KeyInterval keys) const;
  // What either has seen.
  void merge(const RangeVectorClock& other);
  // Ranges that have a time of their own, of all nodes; those that nobody pushed count where they lie between
  // others.
  std::size_t entries() const;
  bool operator==(const RangeVectorClock&) const = default;

 private:
  using Times = std::map<Key, std::uint64_t>;  // From this key on; no two neighbours are alike.
  static std::uint64_t time_at(const Times& times, Key key);

  std::map<std::uint32_t, Times> nodes_;
};

}  // namespace thalweg
