#include "sim/arrivals.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg::sim {

Arrivals::Arrivals(const Workload& workload) : workload_(workload) {
  const Plan& plan = workload.plan();
  for (const TableSpec& table : plan.tables) {
    auto& cells = cells_.emplace_back(std::size_t{plan.shards} * table.ranges);
    for (std::uint32_t s = 0; s < plan.shards; ++s) {
      for (std::uint16_t r = 0; r < table.ranges; ++r) {
        for (std::uint32_t e = 0; e < plan.epochs(); ++e)
          cells[std::size_t{s} * table.ranges + r].seen.emplace_back(workload.steps(ShardId{s}, e) + 1);
        cells[std::size_t{s} * table.ranges + r].seen.emplace_back(1);  // The end of work.
      }
    }
  }
}

std::size_t Arrivals::place(TableId table, ShardId shard, std::uint16_t range) const {
  return std::size_t{shard.value} * workload_.plan().tables[table.value].ranges + range;
}

std::string Arrivals::accept(const FrameHeader& push) {
  const auto refuse = [&](const char* why) {
    return fmt::format("{} was accepted: {}", describe(push), why);
  };
  const Step step = push.step;
  const std::uint32_t epochs = workload_.plan().epochs();
  if (step.epoch > epochs) return refuse("there is no such epoch");
  const bool last = step.epoch == epochs;
  const std::uint32_t end = last ? 0 : workload_.steps(push.shard, step.epoch);
  if (step.index > end) return refuse("there is no such step");
  const std::uint8_t expected = step.index < end ? 0
                                : last           ? frame_flags::kEndOfWork
                                                 : frame_flags::kEndOfEpoch;
  if ((push.flags & (frame_flags::kEndOfEpoch | frame_flags::kEndOfWork)) != expected)
    return refuse("the end is elsewhere");
  for (std::uint16_t range = push.ranges.begin; range < push.ranges.end; ++range) {
    Cell& at = cells_[push.table.value][place(push.table, push.shard, range)];
    at.seen[step.epoch][step.index] = true;
    while (at.low.epoch < at.seen.size() && at.seen[at.low.epoch][at.low.index]) {
      at.low = at.low.next();
      if (at.low.index < at.seen[at.low.epoch].size()) continue;
      at.low = at.low.epoch == epochs ? kEndOfWork : at.low.next_epoch();
    }
  }
  return {};
}

Step Arrivals::clock(TableId table, RangeSpan owned, ShardId shard) const {
  Step low{~0u, 0};
  for (std::uint16_t range = owned.begin; range < owned.end; ++range)
    low = std::min(low, cells_[table.value][place(table, shard, range)].low);
  return low;
}

Step Arrivals::slowest(TableId table, RangeSpan owned) const {
  Step low{~0u, 0};
  for (std::uint32_t s = 0; s < workload_.plan().shards; ++s)
    low = std::min(low, clock(table, owned, ShardId{s}));
  return low;
}

bool Arrivals::may_read(TableId table, RangeSpan owned, ShardId shard, Step wanted) const {
  if (clock(table, owned, shard) < wanted) return false;
  const Consistency& mode = workload_.plan().consistency;
  if (mode.kind == Consistency::Kind::kAsync) return true;
  const std::uint32_t bound = mode.kind == Consistency::Kind::kSync ? 0 : mode.bound;
  return slowest(table, owned) >= Step{wanted.epoch, wanted.index - std::min(wanted.index, bound)};
}

std::uint32_t Arrivals::lead(TableId table, RangeSpan owned, Step wanted) const {
  const Step last = slowest(table, owned);
  if (last >= wanted) return 0;
  return last.epoch == wanted.epoch ? wanted.index - last.index : wanted.index;
}

}  // namespace thalweg::sim
