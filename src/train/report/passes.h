// The passes of a job and what each has come to. Its observer adds them, the thread that runs the job tells
// of them, and in a checkpoint they are known to whoever goes on from there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "train/saved/pass_history.h"
#include "train/train_report.h"

namespace thalweg {

class Passes {
 public:
  // Before the job runs: its shards begin in pass `first`, from 0.
  void begin(std::uint32_t first) { first_ = first; }
  // With what is known of the passes before. False: too little, so that none is.
  bool remember(PassHistory before);
  void forget();

  // On the observer's turns.
  void add(EpochNumbers numbers);
  // The same, or once the job is over.
  const std::vector<EpochNumbers>& all() const { return all_; }
  // From 0: that of all()'s first.
  std::uint32_t first() const { return first_ - remembered_; }
  // As people count.
  std::uint32_t number(std::size_t index) const { return first() + static_cast<std::uint32_t>(index) + 1; }
  // Of all, those that a job before has made.
  std::uint32_t remembered() const { return remembered_; }

  // On any thread:
  std::size_t size() const;
  EpochNumbers at(std::size_t index) const;
  // For who goes on from a checkpoint that shards begin again from in pass `pass`; empty: nothing is known.
  std::string history_before(std::uint32_t pass) const;
  // The first `count` have been told of.
  void note_told(std::size_t count);
  // Returns once all have been told of, or after `patience`.
  void wait_told(std::chrono::milliseconds patience);
  bool all_told() const;

 private:
  mutable std::mutex mutex_;  // Guards all_ while the job runs, and told_.
  std::vector<EpochNumbers> all_;
  std::size_t told_ = 0;
  std::condition_variable told_more_;
  std::uint32_t first_ = 0, remembered_ = 0;
};

}  // namespace thalweg
