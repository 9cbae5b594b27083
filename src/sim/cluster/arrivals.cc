#include "sim/cluster/arrivals.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg::sim {

Arrivals::Arrivals(const Workload& workload) : workload_(workload) {
  const Plan& plan = workload.plan();
  if (!plan.judged) return;
  for (const TableSpec& table : plan.tables) {
    auto& seen = seen_.emplace_back(std::size_t{plan.shards} * table.ranges);
    for (Seen& of_range : seen) of_range.resize(plan.epochs() + 1);  // The last one is the end of work.
    lows_.emplace_back(seen.size());
  }
  epochs_.assign(plan.shards, std::vector<Epoch>(plan.epochs() + 1));
  for (std::uint32_t s = 0; s < plan.shards && !plan.stops(); ++s) {
    for (std::uint32_t e = 0; e < plan.epochs(); ++e) epochs_[s][e].end = workload.steps(ShardId{s}, e);
    epochs_[s].back() = {0, 0, true};
  }
}

std::uint32_t Arrivals::steps(ShardId shard, std::uint32_t epoch) const {
  const Epoch& at = epochs_[shard.value][epoch];
  return at.end == kOpen ? at.accepted : at.end;
}

// Empty, or why the push cannot be what it says of the shard's end.
std::string Arrivals::check_end(ShardId shard, const FrameHeader& push) {
  if (push.step.epoch >= epochs_[shard.value].size()) return "there is no such epoch";
  Epoch& epoch = epochs_[shard.value][push.step.epoch];
  const std::uint32_t index = push.step.index;
  const bool of_work = (push.flags & frame_flags::kEndOfWork) != 0;
  const bool ends = of_work || (push.flags & frame_flags::kEndOfEpoch) != 0;
  if (workload_.plan().stops() && ends && epoch.end == kOpen && index >= epoch.accepted) {
    epoch.end = index;
    epoch.of_work = of_work;
  }
  // An heir that is asked to stop may end the work where its predecessor ended an epoch.
  if (workload_.plan().stops() && of_work && index == epoch.end) epoch.of_work = true;
  // And what the predecessor's server, which others have taken over from, has to say of that may come last.
  if (workload_.plan().copies() && ends && epoch.of_work && index == epoch.end) return {};
  if (index > epoch.end) return "there is no such step";
  if (ends != (index == epoch.end) || (ends && of_work != epoch.of_work)) return "the end is elsewhere";
  if (!ends) epoch.accepted = std::max(epoch.accepted, index + 1);
  return {};
}

std::string Arrivals::accept(const FrameHeader& push) {
  for (std::uint32_t i = 0; i < push.shard_count(); ++i) {
    if (std::string wrong = accept_of(ShardId{push.shard.value + i}, push); !wrong.empty()) return wrong;
  }
  return {};
}

std::string Arrivals::accept_of(ShardId shard, const FrameHeader& push) {
  if (const std::string why = check_end(shard, push); !why.empty()) {
    return fmt::format("{} was accepted: {}", describe(push), why);
  }
  const Step step = push.step;
  const std::vector<Epoch>& epochs = epochs_[shard.value];
  for (std::uint16_t range = push.ranges.begin; range < push.ranges.end; ++range) {
    Seen& seen = seen_[push.table.value][place(push.table, shard, range)];
    Step& low = lows_[push.table.value][place(push.table, shard, range)];
    if (seen[step.epoch].size() <= step.index) seen[step.epoch].resize(step.index + 1);
    seen[step.epoch][step.index] = true;
    if (epochs[step.epoch].of_work && low == step.next_epoch()) low = kEndOfWork;
    while (low.epoch < seen.size() && low.index < seen[low.epoch].size() && seen[low.epoch][low.index]) {
      const Epoch& epoch = epochs[low.epoch];
      low = low.index < epoch.end ? low.next() : epoch.of_work ? kEndOfWork : low.next_epoch();
    }
  }
  return {};
}

bool Arrivals::knows(const FrameHeader& push) const {
  for (std::uint32_t i = 0; i < push.shard_count(); ++i) {
    for (std::uint16_t range = push.ranges.begin; range < push.ranges.end; ++range) {
      const std::size_t at = place(push.table, ShardId{push.shard.value + i}, range);
      const auto& seen = seen_[push.table.value][at][push.step.epoch];
      if (push.step.index >= seen.size() || !seen[push.step.index]) return false;
    }
  }
  return true;
}

Step Arrivals::clock(TableId table, const RangeSet& owned, ShardId shard) const {
  Step low{~0u, 0};
  const Step* const lows = lows_[table.value].data() + place(table, shard, 0);
  for (const RangeSpan run : owned.runs())
    low = std::min(low, *std::min_element(lows + run.begin, lows + run.end));
  return low;
}

// But for so many that are slower.
Step Arrivals::slowest(TableId table, const RangeSet& owned, std::uint32_t but) const {
  const std::uint32_t shards = workload_.plan().shards;
  if (but == 0) {
    Step low = clock(table, owned, ShardId{0});
    for (std::uint32_t s = 1; s < shards; ++s) low = std::min(low, clock(table, owned, ShardId{s}));
    return low;
  }
  std::vector<Step> clocks(shards);
  for (std::uint32_t s = 0; s < shards; ++s) clocks[s] = clock(table, owned, ShardId{s});
  std::ranges::sort(clocks);
  return clocks[std::min<std::size_t>(but, clocks.size() - 1)];
}

bool Arrivals::may_read(TableId table, const RangeSet& owned, ShardId shard, Step wanted) const {
  const Consistency& mode = workload_.plan().consistency;
  if (mode.kind == Consistency::Kind::kFreeSoftsync) return true;
  if (clock(table, owned, shard) < wanted) return false;
  if (mode.kind == Consistency::Kind::kAsync || mode.kind == Consistency::Kind::kSoftsync ||
      mode.kind == Consistency::Kind::kMaxWait)
    return true;
  if (mode.kind == Consistency::Kind::kBackup) return slowest(table, owned, mode.bound) >= wanted;
  const std::uint32_t bound = mode.kind == Consistency::Kind::kSync ? 0 : mode.bound;
  return slowest(table, owned) >= Step{wanted.epoch, wanted.index - std::min(wanted.index, bound)};
}

bool Arrivals::must_be_shown(TableId table, const RangeSet& owned, ShardId shard, Step wanted) const {
  const bool by_time = workload_.plan().consistency.kind == Consistency::Kind::kMaxWait;
  return may_read(table, owned, shard, wanted) && (!by_time || slowest(table, owned) >= wanted);
}

std::uint32_t Arrivals::lead(TableId table, const RangeSet& owned, Step wanted) const {
  const Step last = slowest(table, owned);
  if (last >= wanted) return 0;
  return last.epoch == wanted.epoch ? wanted.index - last.index : wanted.index;
}

}  // namespace thalweg::sim
