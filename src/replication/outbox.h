// Log entries on their way from one server to those that keep copies: to each of them in order, kept and sent
// again until it says that it, and whoever comes behind it, has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "base/instant.h"
#include "base/limits.h"
#include "base/retry_timer.h"

namespace thalweg::replication {

// The number of an entry on its stream, from 1 on, in the place of a step.
inline Step step_of(std::uint64_t number) {
  return {static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(number)};
}
inline std::uint64_t number_of(const FrameHeader& head) {
  return std::uint64_t{head.step.epoch} << 32 | head.step.index;
}

// Entries of one stream are acknowledged in order. So ranges whose chains go on differently have streams of
// their own: else two servers could wait for each other.
struct StreamId {
  NodeId server;              // At its other end.
  std::uint32_t lineage = 0;  // Of which ranges, which have one chain at any time.
  // By which the receiver has come behind the sender: the same two may meet again, and begin anew then.
  std::uint32_t attempt = 0;
  auto operator<=>(const StreamId&) const = default;
};

class Outbox {
 public:
  using Send = std::function<void(NodeId to, Frame frame)>;

  // Numbers the frame, which leaves with send_due(). Its position: entries are counted over all streams.
  // `awaited`: it is not committed before it is acknowledged; what others have need not be.
  std::uint64_t add(StreamId to, Frame frame, bool awaited = true);
  // What is new and, where nothing has been heard for too long, what was sent before.
  void send_due(Instant now, const Send& send);
  Instant next_deadline() const;
  // The entries before `next` are in all copies behind `next`.
  void on_acknowledged(Instant now, StreamId from, std::uint64_t next);
  // The receiver was not ready for this entry, which is over sooner than its silence would be noticed.
  void on_refused(Instant now, StreamId from, std::uint64_t number);
  // Ends such streams. What has not been acknowledged, of each in order.
  std::vector<std::pair<StreamId, Frame>> drop(const std::function<bool(StreamId)>& over);

  // Of the last that is awaited.
  std::uint64_t newest() const { return newest_; }
  // All that are awaited up to this position have been acknowledged.
  std::uint64_t committed() const;
  // Whether this one has, which went to `to`, or never will, for that is lost.
  bool acknowledged(StreamId to, std::uint64_t position) const {
    const auto stream = streams_.find(to);
    return stream == streams_.end() || stream->second.entries.empty() ||
           stream->second.entries.front().position > position;
  }
  // That are kept.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::uint64_t position = 0;
    Frame frame;
  };
  struct Stream {
    std::deque<Entry> entries;          // Not acknowledged, in order.
    std::deque<std::uint64_t> awaited;  // The positions of those that are.
    std::uint64_t first = 1;            // The number of the first of them.
    std::size_t sent = 0;               // Of them.
    RetryTimer timer;
    Duration backoff{};
    Instant retry_at = kNever;
    bool refused = false;  // So that it is sent again then.
    Duration refusal_wait = limits::kRefusalWaitFirst;
    std::uint64_t timed = 0;  // The number of an entry that was sent once, at `timed_at`; 0: none.
    Instant timed_at;
  };
  void send_new(Instant now, StreamId to, Stream& stream, const Send& send);

  std::map<StreamId, Stream> streams_;
  std::uint64_t position_ = 0, newest_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace thalweg::replication
