#include "exchange/plan/tune.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "exchange/plan/estimate.h"

namespace thalweg {
namespace {

// Steps that do not help before another way is tried.
constexpr int kMisses = 3;
// The first trial may take so much where there is any work left at all.
constexpr double kFirstTrialMost = 5e3;

// Pieces that are no shorter than a channel's share are none.
std::uint64_t next_larger(std::uint64_t piece_bytes, double share) {
  std::uint64_t larger = kPieceBytesLeast;
  while (larger <= piece_bytes) larger *= 4;
  return larger > kPieceBytesMost || static_cast<double>(larger) >= share ? 0 : larger;
}
std::uint64_t next_smaller(std::uint64_t piece_bytes, double share) {
  std::uint64_t smaller = 0;
  for (std::uint64_t each = kPieceBytesLeast; each <= kPieceBytesMost; each *= 4) {
    if (static_cast<double>(each) < share && (piece_bytes == 0 || each < piece_bytes)) smaller = each;
  }
  return smaller;
}

}  // namespace

Tuner::Tuner(const Topology& topology, const Demand& demand, Forecast start, const PlannerOptions& options,
             std::pmr::memory_resource* memory)
    : topology_(topology),
      demand_(demand),
      options_(options),
      memory_(memory),
      best_(std::move(start)),
      promise_(best_.seconds) {
  tried_.push_back(cut_of_best());
  if (best_.work > 0)
    work_by_count_ = std::max(1.0, best_.work / simulation_work(topology_, demand_, best_.layout));
}

// Whether there is another one that way; it is `cut` then.
bool Tuner::step(Way way, std::uint64_t bytes, Cut& cut) {
  const double share = static_cast<double>(bytes) / cut.channels;
  switch (way) {
    case Way::kSmallerPieces:
      cut.piece_bytes = next_smaller(cut.piece_bytes, share);
      return cut.piece_bytes > 0;
    case Way::kLargerPieces:
      if (cut.piece_bytes == 0) return false;
      cut.piece_bytes = next_larger(cut.piece_bytes, share);
      return true;
    case Way::kMoreChannels:
      cut.channels = std::bit_floor(cut.channels) * 2;
      return cut.channels <= kChannelsMost && bytes / cut.channels >= kPieceBytesLeast;
    case Way::kFewerChannels:
      cut.channels = std::bit_ceil(cut.channels) / 2;
      return cut.channels >= 1;
  }
  return false;
}

Tuner::Cut Tuner::cut_of_best() const {
  return {best_.layout.plan.piece_elements * Demand::kElementBytes, best_.layout.plan.channels};
}

// Of several levels, channels keep all busy at once, which pieces do in trees alone; of one, they use cables
// that it does not use alone.
std::array<Tuner::Way, 4> Tuner::ways() const {
  if (!best_.layout.plan.levels.empty())
    return {Way::kMoreChannels, Way::kSmallerPieces, Way::kLargerPieces, Way::kFewerChannels};
  return {Way::kSmallerPieces, Way::kLargerPieces, Way::kMoreChannels, Way::kFewerChannels};
}

double Tuner::next_work() const {
  double least = 0;
  for (const Way way : ways()) {
    Cut next = cut_of_best();
    Layout layout;
    if (!step(way, demand_.bytes, next) || !cut(next, layout)) continue;
    const double takes = work_by_count_ * simulation_work(topology_, demand_, layout);
    if (least == 0 || takes < least) least = takes;
  }
  return least;
}

Status Tuner::go_on(double& work) {
  for (bool better = true; better;) {
    const double before = best_.seconds;
    for (const Way way : ways()) {
      if (Status status = walk(way, work); !status.ok()) return status;
    }
    better = best_.seconds < before;
  }
  return ok_status();
}

Status Tuner::walk(Way way, double& work) {
  Cut cut = cut_of_best();
  for (int misses = 0; misses < kMisses && step(way, demand_.bytes, cut);) {
    const double before = best_.seconds;
    if (Status status = try_cut(cut, work); !status.ok()) return status;
    misses = best_.seconds < before ? 0 : misses + 1;
  }
  return ok_status();
}

bool Tuner::cut(const Cut& cut, Layout& layout) const {
  layout = best_.layout;
  layout.plan.piece_elements = cut.piece_bytes / Demand::kElementBytes;
  layout.plan.channels = cut.channels;
  return check_plan(layout.plan, demand_.operation, layout.size()).ok() &&
         (!options_.takes || options_.takes(layout.plan));
}

Status Tuner::try_cut(const Cut& wanted, double& work) {
  if (std::find(tried_.begin(), tried_.end(), wanted) != tried_.end()) return ok_status();
  Forecast trial = best_;
  if (!cut(wanted, trial.layout)) return ok_status();
  const double takes = work_by_count_ * simulation_work(topology_, demand_, trial.layout);
  const bool first = tried_.size() == 1 && work > 0 && takes <= kFirstTrialMost;
  if (takes > work && !first) return ok_status();
  tried_.push_back(wanted);
  double worked = 0;
  const auto seconds = estimated_seconds(topology_, demand_, trial.layout,
                                         {options_.handling, best_.seconds, memory_, &worked});
  if (!seconds.ok()) return seconds.status();
  work -= worked;
  const bool more_channels =
      wanted.piece_bytes == cut_of_best().piece_bytes && wanted.channels == 2 * best_.layout.plan.channels;
  if (more_channels) promise_ = std::min(best_.seconds, std::max(0.0, 2 * *seconds - best_.seconds));
  trial.seconds = *seconds;
  trial.pipelined = wanted.piece_bytes > 0 || wanted.channels > 1;
  if (trial.seconds < best_.seconds) best_ = std::move(trial);
  promise_ = std::min(promise_, best_.seconds);
  return ok_status();
}

}  // namespace thalweg
