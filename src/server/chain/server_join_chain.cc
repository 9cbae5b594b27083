// The part of Server by which copies of a lost server are made again. Whoever joins a chain comes behind its
// last server: that sends what each range holds, on the stream on which it sends its entries, and behind that
// the entries. So once the copy has come, the joiner has all that the others have acknowledged. van Renesse,
// Schneider, "Chain Replication for Supporting High Throughput and Availability", OSDI 2004, section 3.3.
#include <algorithm>

#include "base/coverage/reached.h"
#include "base/planted.h"
#include "server/chain/copy_state.h"
#include "server/server.h"

namespace thalweg {
namespace {

// Calls visit(range) for each range of a run.
template <class Visit>
void for_each_range(TableId table, RangeSpan run, const Visit& visit) {
  for (std::uint16_t range = run.begin; range < run.end; ++range) visit(std::pair(table, RangeId{range}));
}

}  // namespace

// What an attempt that was given up has brought here is not kept, and what it sent there is sent again.
void Server::follow_joins(Transport& out) {
  joining_.clear();
  unsent_.clear();
  std::map<RangeOf, std::uint32_t> sent;
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    const Placement& placement = map().placement[t];
    RangeSet kept = placement.copied_by(self());
    for (const PlacedRun& run : placement.joined_by(self())) {
      for_each_range(TableId{t}, run.ranges, [&](RangeOf range) {
        joining_[range] = run.joining;
        const auto joined = joined_.find(range);
        if (joined != joined_.end() && joined->second == run.joining) kept.add(only(range.second));
        if (THALWEG_BUG(kJoinedUnseen)) joined_[range] = run.joining;
      });
    }
    if (const RangeSet rest = copies_[t]->owned() - kept; !rest.empty()) {
      THALWEG_REACHED(kJoinGivenUp);
      copies_[t]->drop(rest);
    }
    for (const PlacedRun& run : placement.joiners_of(self())) {
      for_each_range(TableId{t}, run.ranges, [&](RangeOf range) {
        const auto before = sent_.find(range);
        if (before != sent_.end() && before->second == run.joining) {
          sent.insert(*before);
        } else if (host_of(range).owned().contains(range.second)) {
          unsent_.push_back({range, run.joining});
        }
      });
    }
  }
  sent_ = std::move(sent);
  const auto over = [&](const auto& entry, std::uint32_t attempt) {
    const auto joining = joining_.find(entry.first);
    return joining == joining_.end() || joining->second != attempt;
  };
  std::erase_if(joined_, [&](const auto& entry) { return over(entry, entry.second); });
  std::erase_if(arriving_, [&](const auto& entry) { return over(entry, entry.second.joining); });
  if (THALWEG_BUG(kJoinedUnseen) && !joined_.empty()) tell_joined(out);
  send_copies(out);
}

// A few at a time, so that entries do not wait for long behind them; and where nobody has kept copies before,
// when what is sent has all that was acknowledged.
void Server::send_copies(Transport& out) {
  std::erase_if(sending_, [&](const Sending& copy) { return outbox_.acknowledged(copy.to, copy.position); });
  std::size_t bytes = 0;
  for (const Sending& copy : sending_) bytes += copy.bytes;
  const auto ready = [&] { return !unsent_.empty() && host_of(unsent_.front().range).logs_all(); };
  for (; ready() && bytes < limits::kCopyBytesInFlight; unsent_.pop_front()) {
    send_copy(unsent_.front());
    bytes += sending_.back().bytes;
  }
  send_entries(out);
}

TableHost& Server::host_of(RangeOf range) const {
  const std::size_t t = range.first.value;
  return *(map().placement[t].owner(range.second) == self() ? tables_ : copies_)[t];
}

void Server::send_copy(const Unsent& unsent) {
  const auto [table, range] = unsent.range;
  const CopyState copy = host_of(unsent.range).copy_state(range);
  const Bytes bytes = encode(copy);
  const std::size_t pieces = (bytes.size() - 1) / limits::kCopyPieceBytes + 1;
  const replication::StreamId to = *next_of(table, only(range));
  std::uint64_t position = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t begin = piece * limits::kCopyPieceBytes;
    Frame frame;
    frame.head.op = Op::kCopy;
    frame.head.table = table;
    frame.head.ranges = only(range);
    frame.head.owner_epoch = unsent.joining;
    frame.head.request = static_cast<std::uint32_t>(pieces - 1 - piece);  // How many are to come.
    frame.first = bytes.part(begin, std::min(bytes.size() - begin, limits::kCopyPieceBytes));
    if (frame.head.request == 0) frame.second = Bytes::of(std::vector<std::uint64_t>{digest(copy)});
    position = outbox_.add(to, std::move(frame));
  }
  sending_.push_back({to, position, bytes.size()});
  sent_[unsent.range] = unsent.joining;
}

Status Server::take_piece(NodeId from, const Frame& piece) {
  const FrameHeader& head = piece.head;
  const RangeOf range{head.table, RangeId{head.ranges.begin}};
  const std::size_t t = head.table.value;
  const auto joining = joining_.find(range);
  const bool wanted = joining != joining_.end() && joining->second == head.owner_epoch &&
                      map().placement[t].before(head.ranges, self()) == from.index;
  if (!wanted) return ok_status();
  Arriving& arriving = arriving_[range];
  arriving.joining = head.owner_epoch;
  const auto bytes = piece.first.span();
  arriving.bytes.insert(arriving.bytes.end(), bytes.begin(), bytes.end());
  if (head.request > 0) return ok_status();
  const Bytes whole = Bytes::of(std::move(arriving.bytes));
  arriving_.erase(range);
  auto copy = decode_copy_state(whole, map().tables[t], static_cast<std::uint32_t>(map().shards.size()));
  if (!copy || copy->state.range != range.second || piece.second.size() != sizeof(std::uint64_t))
    return {Code::kData, "it is no copy of a range"};
  room_left_ = 0;
  if (Status joined = copies_[t]->join(*std::move(copy)); !joined.ok()) return joined;
  if (digest(copies_[t]->copy_state(range.second)) != piece.second.as<std::uint64_t>().front())
    return {Code::kData, "the copy has another digest than what was sent"};
  joined_[range] = head.owner_epoch;
  return ok_status();
}

// Whole runs, for each change of the map makes workers ask anew.
void Server::tell_joined(Transport& out) const {
  wire::Joined message;
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    for (const PlacedRun& run : map().placement[t].joined_by(self())) {
      bool whole = true;
      for_each_range(TableId{t}, run.ranges,
                     [&](RangeOf range) { whole = whole && joined_.contains(range); });
      if (whole) message.runs.push_back({TableId{t}, run.ranges, run.joining});
    }
  }
  if (!message.runs.empty()) member_.tell(Op::kJoined, ok_status(), encode(message), out);
}

}  // namespace thalweg
