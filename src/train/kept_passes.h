// Passes that data shards of one process have prepared, for a later training on the same rows.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "thalweg/ids.h"
#include "train/batch_source.h"

namespace thalweg {

// Thread-safe.
class KeptPasses {
 public:
  // `room` outlives what is kept.
  explicit KeptPasses(std::shared_ptr<StepMemory> room) : room_(std::move(room)) {}
  enum class Rows : std::uint8_t { kTrain, kHeldOut };

  // Null: it is not kept, or has been taken.
  std::unique_ptr<KeptPass> take(ShardId shard, Rows rows) {
    const std::lock_guard lock(mutex_);
    const auto found = passes_.find({shard.value, rows});
    return found == passes_.end() ? nullptr : std::move(found->second);
  }
  void put(ShardId shard, Rows rows, std::unique_ptr<KeptPass> pass) {
    const std::lock_guard lock(mutex_);
    passes_[{shard.value, rows}] = std::move(pass);
  }
  const std::shared_ptr<StepMemory>& room() const { return room_; }

 private:
  const std::shared_ptr<StepMemory> room_;
  std::mutex mutex_;
  std::map<std::pair<std::uint32_t, Rows>, std::unique_ptr<KeptPass>> passes_;
};

}  // namespace thalweg
