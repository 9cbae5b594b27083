// The seam for what a job's scheduler knows and another one may have to know in its place: a few keys,
// changed together or not at all by whoever still leads. Calls block; they are for code outside of nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "thalweg/status.h"

namespace thalweg {

// A key, and what it is to hold from now on; empty: it is to be no more.
struct StateChange {
  std::string key;
  std::optional<std::string> value;
};

// What must be so for changes to be made: `key` was changed last by this revision. 0: there is no such key.
struct StateGuard {
  std::string key;
  std::uint64_t revision = 0;
};

struct StateEntry {
  std::string value;
  std::uint64_t revision = 0;  // Which changed it last.
};

struct StateView {
  std::map<std::string, StateEntry> entries;
  std::uint64_t revision = 0;  // Of the whole store.
};

struct StateEvent {
  StateChange change;
  std::uint64_t revision = 0;
};

using StateLease = std::uint64_t;  // 0: none.

// Revisions count the changes of a whole store and never fall. An error of kIo, kTimeout or kRetry leaves
// open whether changes were made; any other one means that they were not. kModel: what is there is not
// what the store has told before, or nothing that can be read, for good.
class StateStore {
 public:
  virtual ~StateStore() = default;
  // All keys that begin with `prefix`, at one revision.
  virtual Result<StateView> get(std::string_view prefix) = 0;
  // All changes by one revision, which is returned, or none. kStale: a guard does not hold. Keys that are set
  // are bound to `lease` from now on, or to none: they are gone when it ends. kRefused: that has ended.
  virtual Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                                     StateLease lease = 0) = 0;
  // What has become of keys that begin with `prefix` since revision `after`, oldest first. Waits for that as
  // long as `wait`; nothing then is no error. kStale: those revisions are forgotten, so get() is to tell.
  virtual Result<std::vector<StateEvent>> watch(std::string_view prefix, std::uint64_t after,
                                                Duration wait) = 0;
  // A lease that ends unless it is renewed within `length`, which a store may make longer.
  virtual Result<StateLease> grant(Duration length) = 0;
  virtual Status renew(StateLease lease) = 0;   // kRefused: it has ended.
  virtual Status revoke(StateLease lease) = 0;  // One that has ended is fine.
};

}  // namespace thalweg
