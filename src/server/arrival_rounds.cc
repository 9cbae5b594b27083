#include "server/arrival_rounds.h"

#include <algorithm>
#include <span>
#include <utility>

namespace thalweg {
namespace {

template <class Use>
void for_each(const RangeSet& ranges, const Use& use) {
  for (const RangeSpan run : ranges.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) use(range);
  }
}

}  // namespace

ArrivalRounds::ArrivalRounds(std::uint32_t pushes_an_update, std::uint16_t ranges, std::uint32_t shards)
    : size_(pushes_an_update), shards_(shards), ranges_(pushes_an_update > 0 ? ranges : 0) {}

void ArrivalRounds::own(const RangeSet& owned) {
  if (!counts()) return;
  for_each(owned_ - owned, [this](std::uint16_t range) { ranges_[range] = {}; });
  for_each(owned - owned_, [this](std::uint16_t range) { ranges_[range].read.resize(shards_); });
  owned_ = owned;
}

void ArrivalRounds::on_read(ShardId shard, RangeSpan ranges) {
  if (!counts()) return;
  for_each(ranges, [&](std::uint16_t range) {
    VersionRead& read = ranges_[range].read[shard.value];
    if (!read.asked) read = {ranges_[range].round.version, true};
  });
}

template <class Updates>
std::vector<StaleRun> ArrivalRounds::runs_of(const RangeSet& ranges, const Updates& updates_of) const {
  std::vector<StaleRun> runs;
  if (!counts()) return runs;
  for_each(ranges, [&](std::uint16_t range) {
    const std::uint32_t updates = updates_of(ranges_[range]);
    if (runs.empty() || runs.back().ranges.end != range || runs.back().updates != updates)
      runs.push_back({{range, range}, updates});
    ++runs.back().ranges.end;
  });
  return runs;
}

std::vector<StaleRun> ArrivalRounds::staleness(ShardId first, std::uint32_t shards,
                                               const RangeSet& ranges) const {
  return runs_of(ranges, [&](const OfRange& of) {
    std::uint32_t updates = 0;
    for (const VersionRead& read : std::span(of.read).subspan(first.value, shards))
      updates = std::max(updates, of.round.version - read.version);
    return updates;
  });
}

// Of ranges at several servers, some may have had fewer updates than was read of others.
std::vector<StaleRun> ArrivalRounds::staleness(std::uint32_t version, const RangeSet& ranges) const {
  return runs_of(ranges,
                 [&](const OfRange& of) { return of.round.version - std::min(version, of.round.version); });
}

std::uint32_t ArrivalRounds::version(RangeSpan ranges) const {
  std::uint32_t version = ~0u;
  for_each(ranges, [&](std::uint16_t range) { version = std::min(version, ranges_[range].round.version); });
  return version;
}

void ArrivalRounds::count(const std::vector<StaleRun>& runs, std::uint32_t pushes) {
  if (!runs.empty()) counted_[std::ranges::max(runs, {}, &StaleRun::updates).updates] += pushes;
}

std::vector<RangeSpan> ArrivalRounds::runs_alike(RangeSpan ranges) const {
  std::vector<RangeSpan> runs;
  for_each(ranges, [&](std::uint16_t range) {
    if (runs.empty() || ranges_[range].round != ranges_[range - 1].round) runs.push_back({range, range});
    ++runs.back().end;
  });
  return runs;
}

bool ArrivalRounds::take(RangeSpan ranges, std::uint32_t epoch, std::uint32_t pushes) {
  Round round = ranges_[ranges.begin].round;
  if (round.pushes == 0) round.epoch = epoch;
  round.pushes += pushes;
  const bool whole = round.pushes >= size_;
  if (whole) {
    const std::uint32_t more = round.pushes % size_;
    round = {round.version + round.pushes / size_, more, more > 0 ? epoch : 0};
  }
  for_each(ranges, [&](std::uint16_t range) { ranges_[range].round = round; });
  return whole;
}

void ArrivalRounds::on_pushed(ShardId first, std::uint32_t shards, const RangeSet& ranges) {
  for_each(ranges, [&](std::uint16_t range) {
    for (VersionRead& read : std::span(ranges_[range].read).subspan(first.value, shards))
      read = {ranges_[range].round.version, false};
  });
}

void ArrivalRounds::end_epochs_before(std::uint32_t epoch) {
  if (!counts() || epoch <= std::exchange(ended_, epoch)) return;
  for_each(owned_, [&](std::uint16_t range) {
    Round& round = ranges_[range].round;
    if (round.pushes > 0 && round.epoch < epoch) round = {round.version + 1, 0, 0};
  });
}

void ArrivalRounds::restore(RangeId range, Round round, std::vector<VersionRead> read) {
  ranges_[range.value] = {round, std::move(read)};
  ended_ = 0;
}

}  // namespace thalweg
