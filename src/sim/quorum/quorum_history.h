// What clients of versioned values were told, and whether it can be so: outside the protocol, it knows
// requests and answers alone, and the world's time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "sim/findings.h"
#include "thalweg/ids.h"

namespace thalweg::sim {

class QuorumHistory {
 public:
  // Values that are put: numbers, as text.
  using Value = std::uint32_t;

  QuorumHistory(bool fresh, Findings& findings) : fresh_(fresh), findings_(findings) {}

  // The put's client has seen these values.
  Value begin_put(Key key, const std::vector<Value>& seen);
  void end_put(Value value, Instant now, bool acknowledged);
  // What a get has read that was begun at that moment; those of them that are values of its key.
  std::vector<Value> end_get(Key key, Instant begun, const std::vector<std::string>& texts,
                             bool must_be_fresh);
  // What a server has at the end. All that was acknowledged must be there, or have been seen by what is.
  void at_end(std::uint32_t server, Key key, const std::vector<std::string>& texts);

  std::uint64_t stale() const { return stale_; }  // Gets that missed something.
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  struct Put {
    Key key = 0;
    Instant acknowledged = kNever;
    std::set<Value> seen;  // And what those who put these had seen.
  };
  std::vector<Value> values_of(Key key, const std::vector<std::string>& texts);
  // The first value that was acknowledged by then and that none of these is or has seen; kNone: there is
  // none.
  static constexpr Value kNone = ~Value{0};
  Value missing(Key key, Instant by, const std::vector<Value>& values) const;

  bool fresh_;
  Findings& findings_;
  std::vector<Put> puts_;  // By value.
  std::map<Key, std::vector<Value>> of_key_;
  std::uint64_t stale_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace thalweg::sim
