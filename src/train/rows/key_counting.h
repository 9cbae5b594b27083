// A pass over all training rows that counts their keys, before the first that learns.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "data/data_set.h"
#include "thalweg/batch.h"
#include "thalweg/status.h"
#include "train/rows/key_counts.h"

namespace thalweg {

// By threads of its own, since it may take minutes, in which shards' nodes must be heard of. Thread-safe.
class KeyCounting {
 public:
  // Of all rows of `data`, whoever learns from them, so that each process of a job counts alike.
  KeyCounting(ReadOptions data, std::uint64_t width, std::uint32_t least);
  ~KeyCounting();
  KeyCounting(const KeyCounting&) = delete;
  KeyCounting& operator=(const KeyCounting&) = delete;

  void start();  // Once; later calls change nothing.
  bool ended() const { return ended_; }
  // Starts, and waits for the end or for stop() to be true. kAborted where that was first.
  Status wait(const std::function<bool()>& stop);
  Status status();  // Precondition of this and the next: ended().
  // Takes the entries out whose keys are too rare.
  void drop_rare(Batch& batch) const;
  std::uint32_t least() const { return least_; }

 private:
  void run();
  void count_parts(const std::shared_ptr<DataSet>& data, std::uint32_t parts);
  Status count_part(DataSet& data, std::uint32_t part, std::uint32_t parts);

  const ReadOptions options_;
  const std::uint64_t width_;
  const std::uint32_t least_;
  std::once_flag started_;
  std::thread thread_;
  std::atomic<bool> ended_{false}, stopped_{false};
  std::atomic<std::uint32_t> next_part_{0};
  std::mutex mutex_;  // Guards counts_ and status_ until it has ended.
  std::condition_variable change_;
  std::optional<KeyCounts> counts_;  // Made by run(): a process without workers never needs it.
  Status status_;
};

}  // namespace thalweg
