#include "server/open_steps.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/range_set.h"

namespace thalweg {
namespace {

// What is left of `part` outside `ranges` goes to `rest`.
void put_outside(const TableSpec& spec, const StepPart& part, const RangeSet& ranges,
                 std::vector<StepPart>& rest) {
  const RangeSet outside = RangeSet(part.ranges) - ranges;
  for (const RangeSpan left : outside.runs()) {
    Payload payload = left == part.ranges ? part.payload : cut(spec, part.payload, left);
    if (!payload.empty()) rest.push_back({left, std::move(payload)});
  }
}

// What is left of `parts` outside `ranges`; `bytes` falls by the values that go.
std::vector<StepPart> outside_of(const RangeSet& ranges, const TableSpec& spec,
                                 const std::vector<StepPart>& parts, std::uint64_t& bytes) {
  std::vector<StepPart> rest;
  for (const StepPart& part : parts) {
    bytes -= part.payload.values.size();
    put_outside(spec, part, ranges, rest);
  }
  for (const StepPart& part : rest) bytes += part.payload.values.size();
  return rest;
}

}  // namespace

void OpenSteps::add(const TableSpec& spec, const PushEntry& push, StepPart part) {
  const bool known = steps_.count(push.step) > 0, block = push.shards > 1;
  if (part.payload.empty() && !(known && block)) return;
  StepParts& parts = steps_[push.step];
  parts.resize(shards_);
  if (block) supersede(spec, parts, push, part.ranges);
  std::size_t place = push.shard.value;
  if (THALWEG_BUG(kArrivalOrder))
    for (place = 0; place + 1 < parts.size() && !parts[place].empty();) ++place;
  keep(push.step, place, std::move(part));
}

void OpenSteps::keep(Step step, std::size_t place, StepPart part) {
  if (part.payload.empty()) return;
  StepParts& parts = steps_[step];
  parts.resize(shards_);
  value_bytes_ += part.payload.values.size();
  parts[place].push_back(std::move(part));
}

// Drops what had come of the block's shards, singly or as smaller blocks: it is in the block as well, for a
// contribution is a function of its shard and step.
void OpenSteps::supersede(const TableSpec& spec, StepParts& parts, const PushEntry& block, RangeSpan ranges) {
  if (THALWEG_BUG(kBlockAddedTwice)) return;
  for (std::uint32_t s = block.shard.value; s < block.shard.value + block.shards; ++s) {
    parts[s] = outside_of(ranges, spec, parts[s], value_bytes_);
  }
}

void OpenSteps::close(Step closed, const std::function<void(Step, std::span<const Contribution>)>& apply) {
  std::vector<Contribution> contributions;
  while (!steps_.empty() && steps_.begin()->first < closed) {
    contributions.clear();
    const StepParts& shards = steps_.begin()->second;
    for (std::uint32_t s = 0; s < shards.size(); ++s) {
      for (const StepPart& part : shards[s]) {
        contributions.push_back(contribution_of(part.payload, s));
        value_bytes_ -= part.payload.values.size();
      }
    }
    if (!contributions.empty()) apply(steps_.begin()->first, contributions);
    steps_.erase(steps_.begin());
  }
}

void OpenSteps::close(const TableSpec& spec, Step step, RangeSpan ranges,
                      const std::function<void(std::span<const Contribution>)>& apply) {
  const auto found = steps_.find(step);
  if (found == steps_.end()) return;
  std::vector<Payload> payloads;
  std::vector<std::uint32_t> places;
  bool rest = false;
  for (std::uint32_t place = 0; place < found->second.size(); ++place) {
    std::vector<StepPart>& parts = found->second[place];
    for (const StepPart& part : parts) {
      const RangeSpan both{std::max(part.ranges.begin, ranges.begin), std::min(part.ranges.end, ranges.end)};
      if (both.begin >= both.end) continue;
      payloads.push_back(both == part.ranges ? part.payload : cut(spec, part.payload, both));
      places.push_back(place);
    }
    parts = outside_of(ranges, spec, parts, value_bytes_);
    rest = rest || !parts.empty();
  }
  if (!rest) steps_.erase(found);
  std::vector<Contribution> contributions;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    if (payloads[i].empty()) continue;
    contributions.push_back(contribution_of(payloads[i], places[i]));
  }
  if (!contributions.empty()) apply(contributions);
}

std::map<Step, StepParts> OpenSteps::of(const TableSpec& spec, RangeId range) const {
  std::map<Step, StepParts> found;
  for (const auto& [step, shards] : steps_) {
    for (std::size_t s = 0; s < shards.size(); ++s) {
      for (const StepPart& part : shards[s]) {
        Payload payload = part.ranges.contains(range) ? cut(spec, part.payload, only(range)) : Payload();
        if (payload.empty()) continue;
        StepParts& of_step = found[step];
        of_step.resize(shards_);
        of_step[s].push_back({only(range), std::move(payload)});
      }
    }
  }
  return found;
}

void OpenSteps::remove(const TableSpec& spec, const RangeSet& ranges) {
  for (auto& [step, shards] : steps_) {
    for (std::vector<StepPart>& parts : shards) parts = outside_of(ranges, spec, parts, value_bytes_);
  }
}

void OpenSteps::adopt(std::map<Step, StepParts> steps) {
  for (auto& [step, shards] : steps) {
    StepParts& parts = steps_[step];
    parts.resize(shards_);
    for (std::size_t s = 0; s < shards.size(); ++s) {
      for (const StepPart& part : shards[s]) value_bytes_ += part.payload.values.size();
      std::ranges::move(shards[s], std::back_inserter(parts[s]));
    }
  }
}

}  // namespace thalweg
