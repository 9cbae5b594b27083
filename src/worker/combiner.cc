#include "worker/combiner.h"

#include <algorithm>

#include "base/check.h"
#include "base/coverage/reached.h"
#include "base/limits.h"
#include "base/planted.h"
#include "table/update_kernels.h"

namespace thalweg {
namespace {

// The first step that a shard may push after this one.
Step step_after(const FrameHeader& head) {
  if ((head.flags & frame_flags::kEndOfWork) != 0) return kEndOfWork;
  return (head.flags & frame_flags::kEndOfEpoch) != 0 ? head.step.next_epoch() : head.step.next();
}

bool holds(const FrameHeader& block, const FrameHeader& other) {
  return block.shard <= other.shard &&
         other.shard.value + other.shard_count() <= block.shard.value + block.shard_count();
}

}  // namespace

void Combiner::reset(std::span<const TableSpec> tables, std::uint32_t shards, std::vector<ShardId> expected,
                     WaitFor wait_for) {
  tables_.assign(tables.begin(), tables.end());
  shards_ = shards;
  expected_ = std::move(expected);
  next_.clear();
  groups_.clear();
  wait_for_ = wait_for;
  unanswered_.clear();
  due_ = kNever;
}

void Combiner::add(Instant now, NodeId from, Frame push) {
  const FrameHeader head = push.head;
  const Lane lane{head.table, head.ranges.begin, head.ranges.end};
  if (next_.size() >= limits::kCombineLanesMax) next_.clear();
  std::vector<Step>& next = next_[lane];
  next.resize(shards_);
  for (std::uint32_t s = head.shard.value; s < head.shard.value + head.shard_count(); ++s) {
    next[s] = std::max(next[s], step_after(head));
  }
  const auto [found, is_new] = groups_.try_emplace({lane, head.step, head.flags});
  Group& group = found->second;
  if (is_new) group.due = now + limits::kCombineHold;
  due_ = std::min(due_, group.due);
  news_ = true;
  // A block holds another or shares no shard with it: blocks are aligned.
  for (auto& [first, waiting] : group.waiting) {
    if (holds(waiting.frame.head, head)) return waiting.askers.push_back({from, head});
  }
  Waiting fresh{std::move(push), {{from, head}}};
  for (auto other = group.waiting.begin(); other != group.waiting.end();) {
    if (!holds(head, other->second.frame.head)) {
      ++other;
      continue;
    }
    auto& askers = other->second.askers;
    fresh.askers.insert(fresh.askers.end(), askers.begin(), askers.end());
    other = group.waiting.erase(other);
  }
  group.waiting.emplace(head.shard.value, std::move(fresh));
}

bool Combiner::complete(const GroupKey& key) const {
  const auto& [lane, step, flags] = key;
  const auto next = next_.find(lane);
  return next != next_.end() && std::ranges::all_of(expected_, [&, at = step](ShardId shard) {
           return next->second[shard.value] > at;
         });
}

bool Combiner::held(Instant now, const GroupKey& key, const Group& group) const {
  if (group.due <= now || complete(key)) return false;
  return wait_for_ == WaitFor::kStep || unanswered_.count(std::get<Lane>(key)) > 0;
}

std::vector<Combiner::Batch> Combiner::take(Instant now) {
  std::vector<Batch> out;
  if (!news_ && now < due_) return out;
  news_ = false;
  due_ = kNever;
  std::map<Lane, std::size_t> leaving;
  for (auto group = groups_.begin(); group != groups_.end();) {
    if (held(now, group->first, group->second)) {
      due_ = std::min(due_, group->second.due);
      ++group;
      continue;
    }
    if (!complete(group->first)) THALWEG_REACHED(kSumOverdue);
    const std::size_t before = out.size();
    cover(group->second, out);
    leaving[std::get<Lane>(group->first)] += out.size() - before;
    group = groups_.erase(group);
  }
  if (wait_for_ == WaitFor::kStep) return out;
  for (const auto& [lane, batches] : leaving) unanswered_[lane] += batches;
  return out;
}

void Combiner::on_answered(TableId table, RangeSpan ranges) {
  const auto found = unanswered_.find({table, ranges.begin, ranges.end});
  if (found == unanswered_.end() || --found->second > 0) return;
  unanswered_.erase(found);
  news_ = true;
}

// As few blocks as there can be: two neighbours become one wherever that is aligned and fits a frame.
void Combiner::cover(Group& group, std::vector<Batch>& out) {
  struct Piece {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::size_t bytes = 0;
    Block block;
  };
  std::vector<Piece> pieces;
  for (auto& [first, waiting] : group.waiting) {
    const FrameHeader& head = waiting.frame.head;
    pieces.push_back({first, head.shard_count(), waiting.frame.size_bytes(), {&waiting}});
    while (pieces.size() > 1) {
      Piece& left = pieces[pieces.size() - 2];
      const Piece& right = pieces.back();
      const bool halves = left.count == right.count && left.first + left.count == right.first &&
                          left.first % (2 * left.count) == 0;
      if (!halves || left.bytes + right.bytes > limits::kFrameBytesMax) break;
      left.count *= 2;
      left.bytes += right.bytes;
      left.block.insert(left.block.end(), right.block.begin(), right.block.end());
      pieces.pop_back();
    }
  }
  for (const Piece& piece : pieces) {
    if (auto frame = sum(piece.block)) {
      Batch& batch = out.emplace_back(Batch{std::move(*frame), {}});
      for (const Waiting* waiting : piece.block) {
        batch.askers.insert(batch.askers.end(), waiting->askers.begin(), waiting->askers.end());
      }
      continue;
    }
    for (Waiting* waiting : piece.block)
      out.push_back({std::move(waiting->frame), std::move(waiting->askers)});
  }
}

// Empty when one frame cannot say it: rows of a dense table that are no block, or a sum that overflows.
std::optional<Frame> Combiner::sum(const Block& block) {
  if (block.size() == 1) return block[0]->frame;
  Frame frame;
  frame.head = block[0]->frame.head;
  std::uint32_t count = 0;
  std::vector<Contribution> parts;
  const Waiting* last = nullptr;
  for (const Waiting* waiting : block) {
    const Frame& one = waiting->frame;
    count += one.head.shard_count();
    frame.head.version = older_version(frame.head.version, one.head.version);
    if (one.first.empty() || one.second.empty()) continue;
    last = waiting;
    const std::uint32_t position =
        THALWEG_BUG(kCombineInARow) ? 1u << parts.size() : one.head.shard.value;  // Such are summed in a row.
    parts.push_back({one.keys(), one.values(), position});
  }
  while (frame.head.shard_count() < count) ++frame.head.block;
  if (parts.size() > 1) return sum_parts(parts, std::move(frame));
  if (last == nullptr) return frame;
  frame.first = last->frame.first;
  frame.second = last->frame.second;
  return frame;
}

std::optional<Frame> Combiner::sum_parts(std::span<const Contribution> parts, Frame frame) {
  const TableSpec& spec = tables_[frame.head.table.value];
  const bool last_wins = spec.rule.kind == RuleKind::kAssign;
  std::vector<std::uint64_t> keys;
  std::vector<float> values;
  if (spec.kind == TableSpec::Kind::kSparse) {
    const Contribution sums = sparse_.reduce(parts, spec.dim, last_wins);
    keys.assign(sums.keys.begin(), sums.keys.end());
    values.assign(sums.grads.begin(), sums.grads.end());
  } else {
    dense_.start(parts, spec.dim, last_wins);
    if (dense_.touched().size() != 1) return std::nullopt;
    const RowInterval rows = dense_.touched()[0];
    keys.push_back(rows.begin);
    values.resize((rows.end - rows.begin) * spec.dim);
    dense_.sum(rows, values.data());
  }
  if (kernels::find_non_finite(values) != values.size()) return std::nullopt;
  frame.first = Bytes::of(std::move(keys));
  frame.second = Bytes::of(std::move(values));
  return frame;
}

}  // namespace thalweg
