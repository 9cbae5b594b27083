// Updates of ranges by the number of pushes that came, from whatever shards: how many updates each range has
// had, what has come for its next one, and how old what each shard has read of it is. Zhang, Gupta, Lian,
// Liu, "Staleness-aware Async-SGD for Distributed Deep Learning", IJCAI 2016, section 3.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/range_set.h"
#include "thalweg/ids.h"

namespace thalweg {

// The update of a range that is being collected.
struct Round {
  std::uint32_t version = 0;  // Updates that the range has had.
  std::uint32_t pushes = 0;   // That have come since.
  std::uint32_t epoch = 0;    // In which the first of them was computed.
  bool operator==(const Round&) const = default;
};

// Which version of a range a shard computes on.
struct VersionRead {
  std::uint32_t version = 0;
  bool asked = false;  // It has read since its last push, else it knows what that push found.
  bool operator==(const VersionRead&) const = default;
};

// Ranges of which a push is the same number of updates behind what it was computed on.
struct StaleRun {
  RangeSpan ranges;
  std::uint32_t updates = 0;
  bool operator==(const StaleRun&) const = default;
};

class ArrivalRounds {
 public:
  // `pushes_an_update` 0: updates are not by number, and nothing is known here.
  ArrivalRounds(std::uint32_t pushes_an_update, std::uint16_t ranges, std::uint32_t shards);

  bool counts() const { return size_ > 0; }
  std::uint32_t pushes_an_update() const { return size_; }
  // Ranges that stay keep what is known of them; those that are new have had no update.
  void own(const RangeSet& owned);

  // The shard is given the rows of these ranges for a step that it has not pushed to. Of several answers the
  // first counts, which is the oldest.
  void on_read(ShardId shard, RangeSpan ranges);
  // Of a push of these shards' sum: that of the one which read the oldest rows.
  std::vector<StaleRun> staleness(ShardId first, std::uint32_t shards, const RangeSet& ranges) const;
  // Of what was computed on rows of this version.
  std::vector<StaleRun> staleness(std::uint32_t version, const RangeSet& ranges) const;
  // Of the range that has had fewest updates.
  std::uint32_t version(RangeSpan ranges) const;
  // Counts so many pushes' staleness, the most over their ranges.
  void count(const std::vector<StaleRun>& runs, std::uint32_t pushes);
  // How many pushes were so many updates behind.
  const std::map<std::uint32_t, std::uint64_t>& counted() const { return counted_; }

  // What `ranges` is made of that collects the same update, in runs.
  std::vector<RangeSpan> runs_alike(RangeSpan ranges) const;
  // So many more pushes, which are one sum, for each of these ranges, which are alike; true where that makes
  // their update whole. Those above its number are in it, and count for the next.
  bool take(RangeSpan ranges, std::uint32_t epoch, std::uint32_t pushes);
  // What the shards push next to these ranges is computed on no older rows than those that there are now.
  void on_pushed(ShardId first, std::uint32_t shards, const RangeSet& ranges);
  // What was begun in epochs before this one is an update.
  void end_epochs_before(std::uint32_t epoch);

  // Precondition: the range is owned.
  const Round& round(RangeId range) const { return ranges_[range.value].round; }
  const std::vector<VersionRead>& read(RangeId range) const { return ranges_[range.value].read; }
  void restore(RangeId range, Round round, std::vector<VersionRead> read);

 private:
  template <class Updates>
  std::vector<StaleRun> runs_of(const RangeSet& ranges, const Updates& updates_of) const;

  struct OfRange {
    Round round;
    std::vector<VersionRead> read;  // By shard; none where the range is not owned.
  };

  std::uint32_t size_;
  std::uint32_t shards_;
  std::vector<OfRange> ranges_;
  RangeSet owned_;
  std::uint32_t ended_ = 0;  // No range collects an update that was begun in an epoch before this one.
  std::map<std::uint32_t, std::uint64_t> counted_;
};

}  // namespace thalweg
