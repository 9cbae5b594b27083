#include "exchange/pipeline/piece_queue.h"

#include <algorithm>
#include <limits>

namespace thalweg {

PieceQueue::PieceQueue(const BucketLayout& layout, const GradientOptions& options)
    : layout_(layout),
      fusion_(options.fusion),
      unit_elements_(options.bucket_bytes / layout.element_bytes()),
      piece_elements_(options.piece_bytes == 0
                          ? std::numeric_limits<std::uint64_t>::max()
                          : std::max<std::uint64_t>(1, options.piece_bytes / layout.element_bytes())),
      here_(layout.positions()),
      since_(layout.buckets().size(), kNever) {
  for (const PositionRun& bucket : layout.buckets()) missing_.push_back(bucket.count);
}

void PieceQueue::add(std::uint32_t position, Instant now) {
  if (fusion_ == GradientOptions::Fusion::kThreshold) {
    ready_.insert(position);
    return;
  }
  const std::uint32_t bucket = layout_.bucket_of(position);
  const PositionRun run = layout_.buckets()[bucket];
  here_[position] = true;
  if (--missing_[bucket] > 0) {
    if (since_[bucket] != kNever) return;
    since_[bucket] = now;
    waiting_.push_back({run.first, now});
    return;
  }
  std::fill_n(here_.begin() + run.first, run.count, false);
  missing_[bucket] = run.count;
  since_[bucket] = kNever;
  open(run);
}

PieceQueue::Incomplete PieceQueue::oldest_incomplete() {
  const auto over = [this](const Incomplete& one) {
    return since_[layout_.bucket_of(one.position)] != one.since;
  };
  while (!waiting_.empty() && over(waiting_.front())) waiting_.pop_front();
  if (waiting_.empty()) return {};
  Incomplete oldest = waiting_.front();
  while (here_[oldest.position]) ++oldest.position;
  return oldest;
}

void PieceQueue::open(PositionRun run) {
  open_.emplace(run.end() - 1, layout_.block(run));
  ++units_;
}

// The most urgent ready position and as many of its neighbours below as fit.
PositionRun PieceQueue::fuse_ready() const {
  PositionRun run{*ready_.rbegin(), 1};
  for (auto next = std::next(ready_.rbegin()); next != ready_.rend() && *next + 1 == run.first; ++next) {
    const PositionRun wider{*next, run.count + 1};
    if (layout_.block(wider).count > unit_elements_) break;
    run = wider;
  }
  return run;
}

std::optional<Block> PieceQueue::front() {
  if (!ready_.empty() && (open_.empty() || *ready_.rbegin() > open_.begin()->first)) {
    const PositionRun run = fuse_ready();
    ready_.erase(ready_.lower_bound(run.first), ready_.lower_bound(run.end()));
    open(run);
  }
  if (open_.empty()) return std::nullopt;
  const Block& rest = open_.begin()->second;
  return Block{rest.begin, std::min(rest.count, piece_elements_)};
}

void PieceQueue::pop() {
  Block& rest = open_.begin()->second;
  const std::uint64_t taken = std::min(rest.count, piece_elements_);
  rest = {rest.begin + taken, rest.count - taken};
  if (rest.count == 0) open_.erase(open_.begin());
}

}  // namespace thalweg
