#include "replication/outbox.h"

#include <algorithm>
#include <utility>

namespace thalweg::replication {

std::uint64_t Outbox::add(StreamId to, Frame frame, bool awaited) {
  Stream& stream = streams_[to];
  frame.head.shard = ShardId{to.lineage};
  frame.head.version = to.attempt;
  frame.head.step = step_of(stream.first + stream.entries.size());
  bytes_ += frame.size_bytes();
  ++position_;
  if (awaited) stream.awaited.push_back(newest_ = position_);
  stream.entries.push_back({position_, std::move(frame)});
  return position_;
}

void Outbox::send_new(Instant now, StreamId to, Stream& stream, const Send& send) {
  if (stream.entries.empty()) return;
  const std::size_t window = std::min(stream.entries.size(), limits::kEntriesInFlightMax);
  for (; stream.sent < window; ++stream.sent) {
    const Frame& frame = stream.entries[stream.sent].frame;
    if (stream.timed == 0 && stream.backoff == Duration{})
      stream.timed = number_of(frame.head), stream.timed_at = now;
    if (stream.retry_at == kNever) stream.retry_at = now + stream.timer.first_wait();
    send(to.server, frame);
  }
}

void Outbox::send_due(Instant now, const Send& send) {
  for (auto& [to, stream] : streams_) {
    if (now >= stream.retry_at) {
      if (!std::exchange(stream.refused, false)) {
        if (stream.backoff == Duration{}) stream.timer.on_silence(now);
        stream.backoff = std::min<Duration>(std::max<Duration>(2 * stream.backoff, stream.timer.first_wait()),
                                            limits::kRetryMax);
      }
      stream.backoff = std::max<Duration>(stream.backoff, stream.timer.first_wait());
      stream.retry_at = now + stream.backoff;
      stream.timed = 0;
      stream.sent = 0;
    }
    send_new(now, to, stream, send);
  }
}

Instant Outbox::next_deadline() const {
  Instant due = kNever;
  for (const auto& [to, stream] : streams_) due = std::min(due, stream.retry_at);
  return due;
}

void Outbox::on_acknowledged(Instant now, StreamId from, std::uint64_t next) {
  const auto found = streams_.find(from);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (next <= stream.first || next > stream.first + stream.entries.size()) return;
  if (stream.timed != 0 && next > stream.timed) {
    stream.timer.on_answer(now - stream.timed_at);
    stream.timed = 0;
  }
  for (; stream.first < next; ++stream.first) {
    bytes_ -= stream.entries.front().frame.size_bytes();
    if (!stream.awaited.empty() && stream.awaited.front() == stream.entries.front().position)
      stream.awaited.pop_front();
    stream.entries.pop_front();
    stream.sent -= stream.sent > 0;
  }
  stream.backoff = {};
  stream.refused = false;
  stream.refusal_wait = limits::kRefusalWaitFirst;
  stream.retry_at = stream.entries.empty() ? kNever : now + stream.timer.first_wait();
}

// All that is under way is refused with its first entry, once each time that it is sent.
void Outbox::on_refused(Instant now, StreamId from, std::uint64_t number) {
  const auto found = streams_.find(from);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (number != stream.first || stream.sent == 0 || stream.refused) return;
  stream.refused = true;
  stream.retry_at = now + stream.refusal_wait;
  stream.refusal_wait = std::min<Duration>(stream.refusal_wait * 2, limits::kRetryFirst);
}

std::vector<std::pair<StreamId, Frame>> Outbox::drop(const std::function<bool(StreamId)>& over) {
  std::vector<std::pair<StreamId, Frame>> dropped;
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    if (!over(stream->first)) {
      ++stream;
      continue;
    }
    for (Entry& entry : stream->second.entries) {
      bytes_ -= entry.frame.size_bytes();
      dropped.emplace_back(stream->first, std::move(entry.frame));
    }
    stream = streams_.erase(stream);
  }
  return dropped;
}

std::uint64_t Outbox::committed() const {
  std::uint64_t before = position_ + 1;
  for (const auto& [to, stream] : streams_) {
    if (!stream.awaited.empty()) before = std::min(before, stream.awaited.front());
  }
  return before - 1;
}

}  // namespace thalweg::replication
