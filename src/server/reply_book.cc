#include "server/reply_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/planted.h"
#include "base/range_set.h"
#include "server/shown_rows.h"

namespace thalweg {
namespace {

bool same_bytes(const Bytes& a, const Bytes& b) {
  return a.size() == b.size() && std::equal(a.span().begin(), a.span().end(), b.span().begin());
}

}  // namespace

const Bytes* ReplyBook::find(const Frame& pull) const {
  if (THALWEG_BUG(kNoReplayCache)) return nullptr;
  const Replies& replies = replies_[pull.head.shard.value];
  const auto of_step = replies.find(pull.head.step);
  if (of_step == replies.end()) return nullptr;
  for (const Reply& reply : of_step->second) {
    if (reply.ranges == pull.head.ranges && same_bytes(reply.payload.keys, pull.first))
      return &reply.payload.values;
  }
  return nullptr;
}

Status ReplyBook::remember(const Frame& pull, const Bytes& rows) {
  if (steps_ == 0 || THALWEG_BUG(kNoReplayCache)) return ok_status();
  Replies& replies = replies_[pull.head.shard.value];
  auto& of_step = replies[pull.head.step];
  const auto asked = static_cast<std::size_t>(std::ranges::count(of_step, true, &Reply::whole));
  if (asked == limits::kPullsRememberedMax) {
    return {Code::kRefused, fmt::format("{}: more than {} different pulls in one step of sync mode",
                                        describe(pull.head), limits::kPullsRememberedMax)};
  }
  of_step.push_back({pull.head.ranges, keeps_rows_ ? Payload{pull.first, rows} : Payload{}});
  keep_newest(replies);
  return ok_status();
}

void ReplyBook::restore(const TableSpec& spec, const Frame& pull, std::span<float> rows) const {
  const Replies& replies = replies_[pull.head.shard.value];
  const auto of_step = replies.find(pull.head.step);
  if (of_step == replies.end() || THALWEG_BUG(kNoReplayCache)) return;
  for (const Reply& reply : of_step->second) {
    if (!reply.payload.empty() && pull.head.ranges.overlaps(reply.ranges))
      copy_shown(spec, reply.payload, pull.keys(), rows);
  }
}

std::size_t ReplyBook::size() const {
  std::size_t size = 0;
  for (const Replies& of_shard : replies_) {
    for (const auto& [step, replies] : of_shard) size += replies.size();
  }
  return size;
}

std::uint64_t ReplyBook::bytes() const {
  std::uint64_t bytes = 0;
  for (const Replies& of_shard : replies_) {
    for (const auto& [step, replies] : of_shard) {
      for (const Reply& reply : replies) bytes += reply.payload.keys.size() + reply.payload.values.size();
    }
  }
  return bytes;
}

void ReplyBook::keep_newest(Replies& replies) const {
  while (replies.size() > steps_) replies.erase(replies.begin());
}

std::vector<Replies> ReplyBook::of(const TableSpec& spec, RangeId range) const {
  std::vector<Replies> found(replies_.size());
  for (std::size_t s = 0; s < replies_.size(); ++s) {
    for (const auto& [step, replies] : replies_[s]) {
      for (const Reply& reply : replies) {
        Payload part = reply.ranges.contains(range) ? cut(spec, reply.payload, only(range)) : Payload();
        if (!part.empty()) found[s][step].push_back({only(range), std::move(part), false});
      }
    }
  }
  return found;
}

void ReplyBook::remove(const TableSpec& spec, const RangeSet& ranges) {
  for (Replies& of_shard : replies_) {
    for (auto& [step, replies] : of_shard) {
      for (Reply& reply : std::exchange(replies, {})) {
        const RangeSet others = RangeSet(reply.ranges) - ranges;
        if (others == reply.ranges) {
          replies.push_back(std::move(reply));
          continue;
        }
        for (const RangeSpan left : others.runs()) {
          Payload part = cut(spec, reply.payload, left);
          if (!part.empty()) replies.push_back({left, std::move(part), false});
        }
      }
    }
  }
}

void ReplyBook::adopt(std::vector<Replies> replies) {
  for (std::size_t s = 0; s < replies_.size() && s < replies.size(); ++s) {
    for (auto& [step, of_step] : replies[s])
      std::ranges::move(of_step, std::back_inserter(replies_[s][step]));
    keep_newest(replies_[s]);
  }
}

}  // namespace thalweg
