// Waits for a key of a state store to be no more, without asking for it again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "node/state_store.h"

namespace thalweg {

class KeyWatch {
 public:
  explicit KeyWatch(std::string key) : key_(std::move(key)) {}
  // Whether the key is no more. Waits for that as long as `wait`, and not at all the first time, or where the
  // store has forgotten what was since: then it looks.
  Result<bool> gone(StateStore& store, Duration wait);

 private:
  Result<bool> look(StateStore& store);

  const std::string key_;
  std::optional<std::uint64_t> there_;  // As of this revision.
};

}  // namespace thalweg
