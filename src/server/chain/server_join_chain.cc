// The part of Server by which copies of a lost server are made again. Whoever joins a chain comes behind its
// last server: that sends what each range holds, on the stream on which it sends its entries, and behind that
// the entries. So once all copies have come, and the sender says so on the stream, the joiner has all that
// the others have acknowledged until then, and they acknowledge no more that it has not got. van Renesse,
// Schneider, "Chain Replication for Supporting High Throughput and Availability", OSDI 2004, section 3.3.
#include <algorithm>
#include <set>

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
  std::erase_if(sending_, [&](const Sending& copy) { return outbox_.acknowledged(copy.to, copy.position); });
  const std::deque<Unsent> before = std::exchange(unsent_, {});
  std::map<RangeOf, Copied> sent;
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    const Placement& placement = map().placement[t];
    RangeSet kept = placement.copied_by(self());
    for (const PlacedRun& run : placement.joined_by(self())) {
      for_each_range(TableId{t}, run.ranges, [&](RangeOf range) {
        joining_[range] = run.joining;
        if (has_of(range, run.joining)) kept.add(only(range.second));
        if (THALWEG_BUG(kJoinedUnseen)) joined_[range] = run.joining;
      });
    }
    if (const RangeSet rest = copies_[t]->owned() - kept; !rest.empty()) {
      THALWEG_REACHED(kJoinGivenUp);
      copies_[t]->drop(rest);
    }
    for (const PlacedRun& run : placement.joiners_of(self())) {
      for_each_range(TableId{t}, run.ranges, [&](RangeOf range) {
        const auto known = sent_.find(range);
        if (known != sent_.end() && known->second.joining == run.joining) {
          sent.insert(*known);
        } else if (host_of(range).owned().contains(range.second)) {
          unsent_.push_back(going_on(before, {range, run.joining}));
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
  vouch();
  send_copies(out);
}

bool Server::has_of(RangeOf range, std::uint32_t attempt) const {
  const auto joined = joined_.find(range);
  if (joined != joined_.end() && joined->second == attempt) return true;
  const auto arriving = arriving_.find(range);
  return arriving != arriving_.end() && arriving->second.joining == attempt && arriving->second.begun;
}

// As far as it has been sent.
Server::Unsent Server::going_on(const std::deque<Unsent>& before, Unsent unsent) {
  const auto same = [&](const Unsent& known) {
    return known.range == unsent.range && known.joining == unsent.joining;
  };
  const auto known = std::ranges::find_if(before, same);
  return known == before.end() ? unsent : *known;
}

// So few pieces at a time that entries do not wait for long behind them; and where nobody has kept copies
// before, when what is sent has all that was acknowledged.
void Server::send_copies(Transport& out) {
  std::erase_if(sending_, [&](const Sending& copy) {
    if (!outbox_.acknowledged(copy.to, copy.position)) return false;
    window_to(copy.to.server).on_acknowledged(now_ - copy.at, copy.bytes);
    return true;
  });
  while (!unsent_.empty()) {
    const Unsent& next = unsent_.front();
    const NodeId joiner = joiner_of(next.range);
    if (!host_of(next.range).logs_all() || under_way_to(joiner) >= window_to(joiner).bytes()) break;
    if (!send_piece(unsent_.front())) continue;
    const std::uint32_t attempt = next.joining;
    sent_[next.range] = {attempt};
    unsent_.pop_front();
    if (unsent_.empty() || unsent_.front().joining != attempt || joiner_of(unsent_.front().range) != joiner)
      vouch();
  }
  send_entries(out);
}

replication::CopyWindow& Server::window_to(NodeId joiner) {
  return windows_.try_emplace(joiner, options_.copy_piece_bytes).first->second;
}

std::size_t Server::under_way_to(NodeId joiner) const {
  std::size_t bytes = 0;
  for (const Sending& copy : sending_) bytes += copy.to.server == joiner ? copy.bytes : 0;
  return bytes;
}

// On each stream by itself, for there is no order between streams.
void Server::vouch() {
  std::set<std::pair<NodeId, std::uint32_t>> open;
  for (const Unsent& unsent : unsent_) open.emplace(joiner_of(unsent.range), unsent.joining);
  std::set<replication::StreamId> told;
  for (auto& [range, copied] : sent_) {
    if (copied.vouched || open.contains({joiner_of(range), copied.joining})) continue;
    copied.vouched = true;
    const auto stream = *next_of(range.first, only(range.second));
    if (!told.insert(stream).second) continue;
    Frame word;
    word.head.flags = frame_flags::kEndOfWork;
    add_piece({range, copied.joining}, std::move(word), 0);
  }
}

TableHost& Server::host_of(RangeOf range) const {
  const std::size_t t = range.first.value;
  return *(map().placement[t].owner(range.second) == self() ? tables_ : copies_)[t];
}

// Entries behind a piece change the rows in it and those before. Rows that are to come have, when they do,
// what entries before them tell. So the joiner has a range as it is, though it changes meanwhile.
bool Server::send_piece(Unsent& unsent) {
  const RangeId range = unsent.range.second;
  TableHost& host = host_of(unsent.range);
  if (unsent.next == Unsent::Next::kKnown) {
    CopyState known = host.copy_state(range);
    known.state.replies.assign(known.state.replies.size(), {});
    known.images = {};
    send_known(unsent, known, 0);
    unsent.next = Unsent::Next::kRows;
    return false;
  }
  const std::size_t count = host.rows_in(options_.copy_piece_bytes);
  Payload rows = host.copied_rows(range, unsent.from, count);
  const std::size_t found = rows.keys.size() / sizeof(std::uint64_t);
  const bool last = found < count, digests = unsent.next == Unsent::Next::kDigests;
  unsent.from = last ? 0 : rows.keys.as<std::uint64_t>().back() + 1;
  const std::size_t bytes = rows.keys.size() + rows.values.size();
  Frame piece;
  if (last) piece.head.flags = frame_flags::kEndOfEpoch;
  if (digests) {
    piece.head.flags |= frame_flags::kReadOnly;
    piece.first = Bytes::of(std::vector<std::uint64_t>{found, digest(rows)});
  } else {
    piece.first = std::move(rows.keys);
    piece.second = std::move(rows.values);
  }
  add_piece(unsent, std::move(piece), bytes);
  if (last && digests) send_known(unsent, host.copy_state(range), frame_flags::kEndOfWork);
  if (last) unsent.next = Unsent::Next::kDigests;
  return last && digests;
}

void Server::send_known(const Unsent& unsent, const CopyState& known, std::uint8_t flags) {
  const Bytes bytes = encode(known);
  const std::size_t pieces = (bytes.size() - 1) / limits::kCopyPieceBytes + 1;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t begin = piece * limits::kCopyPieceBytes;
    Frame frame;
    frame.head.flags = flags | frame_flags::kState;
    frame.head.request = static_cast<std::uint32_t>(pieces - 1 - piece);  // How many are to come.
    frame.first = bytes.part(begin, std::min(bytes.size() - begin, limits::kCopyPieceBytes));
    const std::size_t size = frame.first.size();
    add_piece(unsent, std::move(frame), size);
  }
}

void Server::add_piece(const Unsent& unsent, Frame piece, std::size_t bytes) {
  const auto [table, range] = unsent.range;
  piece.head.op = Op::kCopy;
  piece.head.table = table;
  piece.head.ranges = only(range);
  piece.head.owner_epoch = unsent.joining;
  const replication::StreamId to = *next_of(table, only(range));
  sending_.push_back({to, outbox_.add(to, std::move(piece), false), bytes, now_});
}

Status Server::take_piece(NodeId from, const Frame& piece) {
  const FrameHeader& head = piece.head;
  const RangeOf range{head.table, RangeId{head.ranges.begin}};
  const std::size_t t = head.table.value;
  const auto joining = joining_.find(range);
  const bool wanted = head.ranges.size() == 1 && joining != joining_.end() &&
                      joining->second == head.owner_epoch &&
                      map().placement[t].before(head.ranges, self()) == from.index;
  if (!wanted) return ok_status();
  if (head.flags == frame_flags::kEndOfWork) {
    take_vouched(head);
    return ok_status();
  }
  Arriving& arriving = arriving_[range];
  arriving.joining = head.owner_epoch;
  TableHost& host = *copies_[t];
  room_left_ = 0;
  if ((head.flags & frame_flags::kState) == 0) return take_rows(arriving, host, piece);
  const auto bytes = piece.first.span();
  arriving.bytes.insert(arriving.bytes.end(), bytes.begin(), bytes.end());
  if (head.request > 0) return ok_status();
  if (Status taken = take_known(arriving, host, piece); !taken.ok()) return taken;
  arriving.whole = (head.flags & frame_flags::kEndOfWork) != 0;
  return ok_status();
}

void Server::take_vouched(const FrameHeader& head) {
  std::erase_if(arriving_, [&](const auto& entry) {
    const auto& [range, arriving] = entry;
    const bool its = arriving.whole && arriving.joining == head.owner_epoch && range.first == head.table &&
                     lineage_of(range.first, range.second) == head.shard.value;
    if (its) joined_[range] = head.owner_epoch;
    return its;
  });
}

bool Server::has_all_of(NodeId sender) const {
  return std::ranges::all_of(joining_, [&](const auto& entry) {
    const auto [table, range] = entry.first;
    return joined_.contains(entry.first) ||
           map().placement[table.value].before(only(range), self()) != sender.index;
  });
}

Status Server::take_known(Arriving& arriving, TableHost& host, const Frame& piece) {
  const RangeId range{piece.head.ranges.begin};
  const Bytes whole = Bytes::of(std::exchange(arriving.bytes, {}));
  auto known = decode_copy_state(whole, host.table().spec(), static_cast<std::uint32_t>(map().shards.size()));
  const bool ends = (piece.head.flags & frame_flags::kEndOfWork) != 0;
  if (!known || known->state.range != range || ends != arriving.begun || (ends && host.fills_copy(range)))
    return {Code::kData, "it is no copy of a range"};
  arriving.begun = true;
  return ends ? host.end_copy(*std::move(known)) : host.begin_copy(*std::move(known));
}

Status Server::take_rows(Arriving& arriving, TableHost& host, const Frame& piece) {
  const RangeId range{piece.head.ranges.begin};
  const bool last = (piece.head.flags & frame_flags::kEndOfEpoch) != 0;
  const bool digests = (piece.head.flags & frame_flags::kReadOnly) != 0;
  if (!arriving.begun || digests == host.fills_copy(range)) return {Code::kData, "it is no piece of a copy"};
  if (!digests) return host.fill_copy(range, {piece.first, piece.second}, last);
  if (piece.first.size() != 2 * sizeof(std::uint64_t)) return {Code::kData, "it is no digest of rows"};
  const std::uint64_t count = piece.first.as<std::uint64_t>()[0], sum = piece.first.as<std::uint64_t>()[1];
  const Payload rows = host.copied_rows(range, arriving.compared, count + (last ? 1 : 0));
  if (digest(rows) != sum) return {Code::kData, "the copy has another digest than what was sent"};
  if (!last && !rows.empty()) arriving.compared = rows.keys.as<std::uint64_t>().back() + 1;
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
