#include "server/chain/copies_out.h"

#include <algorithm>
#include <set>

namespace thalweg {

void CopiesOut::begin_map() {
  std::erase_if(sending_, [&](const Sending& copy) { return outbox_.acknowledged(copy.to, copy.position); });
  unsent_before_ = std::exchange(unsent_, {});
  sent_before_ = std::exchange(sent_, {});
}

void CopiesOut::expect(RangeOf range, std::uint32_t attempt) {
  const auto sent = sent_before_.find(range);
  if (sent != sent_before_.end() && sent->second.joining == attempt) {
    sent_.insert(*sent);
    return;
  }
  if (!ranges_.host(range).owned().contains(range.second)) return;
  const auto same = [&](const Unsent& known) { return known.range == range && known.joining == attempt; };
  const auto known = std::ranges::find_if(unsent_before_, same);
  unsent_.push_back(known == unsent_before_.end() ? Unsent{range, attempt} : *known);
}

void CopiesOut::end_map(Instant now) {
  unsent_before_.clear();
  sent_before_.clear();
  vouch(now);
}

bool CopiesOut::has_vouched(RangeOf range, std::uint32_t attempt) const {
  const auto sent = sent_.find(range);
  return sent != sent_.end() && sent->second.joining == attempt && sent->second.vouched;
}

// So few pieces at a time that entries do not wait for long behind them; and where nobody has kept copies
// before, when what is sent has all that was acknowledged.
void CopiesOut::send(Instant now) {
  std::erase_if(sending_, [&](const Sending& copy) {
    if (!outbox_.acknowledged(copy.to, copy.position)) return false;
    window_to(copy.to.server).on_acknowledged(now - copy.at, copy.bytes);
    return true;
  });
  while (!unsent_.empty()) {
    const Unsent& next = unsent_.front();
    const NodeId joiner = joiner_of(next.range);
    if (!ranges_.host(next.range).logs_all() || under_way_to(joiner) >= window_to(joiner).bytes()) break;
    if (!send_piece(unsent_.front(), now)) continue;
    const std::uint32_t attempt = next.joining;
    sent_[next.range] = {attempt};
    unsent_.pop_front();
    if (unsent_.empty() || unsent_.front().joining != attempt || joiner_of(unsent_.front().range) != joiner)
      vouch(now);
  }
}

replication::CopyWindow& CopiesOut::window_to(NodeId joiner) {
  return windows_.try_emplace(joiner, piece_bytes_).first->second;
}

std::size_t CopiesOut::under_way_to(NodeId joiner) const {
  std::size_t bytes = 0;
  for (const Sending& copy : sending_) bytes += copy.to.server == joiner ? copy.bytes : 0;
  return bytes;
}

// On each stream by itself, for there is no order between streams.
void CopiesOut::vouch(Instant now) {
  std::set<std::pair<NodeId, std::uint32_t>> open;
  for (const Unsent& unsent : unsent_) open.emplace(joiner_of(unsent.range), unsent.joining);
  std::set<replication::StreamId> told;
  for (auto& [range, copied] : sent_) {
    if (copied.vouched || open.contains({joiner_of(range), copied.joining})) continue;
    copied.vouched = true;
    if (!told.insert(ranges_.stream(range)).second) continue;
    Frame word;
    word.head.flags = frame_flags::kEndOfWork;
    add_piece({range, copied.joining}, std::move(word), 0, now);
  }
}

// Entries behind a piece change the rows in it and those before. Rows that are to come have, when they do,
// what entries before them tell. So the joiner has a range as it is, though it changes meanwhile.
bool CopiesOut::send_piece(Unsent& unsent, Instant now) {
  const RangeId range = unsent.range.second;
  TableHost& host = ranges_.host(unsent.range);
  if (unsent.next == Unsent::Next::kKnown) {
    CopyState known = host.copy_state(range);
    known.state.replies.assign(known.state.replies.size(), {});
    known.images = {};
    send_known(unsent, known, 0, now);
    unsent.next = Unsent::Next::kRows;
    return false;
  }
  const std::size_t count = host.rows_in(piece_bytes_);
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
  add_piece(unsent, std::move(piece), bytes, now);
  if (last && digests) send_known(unsent, host.copy_state(range), frame_flags::kEndOfWork, now);
  if (last) unsent.next = Unsent::Next::kDigests;
  return last && digests;
}

void CopiesOut::send_known(const Unsent& unsent, const CopyState& known, std::uint8_t flags, Instant now) {
  const Bytes bytes = encode(known);
  const std::size_t pieces = (bytes.size() - 1) / limits::kCopyPieceBytes + 1;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t begin = piece * limits::kCopyPieceBytes;
    Frame frame;
    frame.head.flags = flags | frame_flags::kState;
    frame.head.request = static_cast<std::uint32_t>(pieces - 1 - piece);  // How many are to come.
    frame.first = bytes.part(begin, std::min(bytes.size() - begin, limits::kCopyPieceBytes));
    const std::size_t size = frame.first.size();
    add_piece(unsent, std::move(frame), size, now);
  }
}

void CopiesOut::add_piece(const Unsent& unsent, Frame piece, std::size_t bytes, Instant now) {
  const auto [table, range] = unsent.range;
  piece.head.op = Op::kCopy;
  piece.head.table = table;
  piece.head.ranges = only(range);
  piece.head.owner_epoch = unsent.joining;
  const replication::StreamId to = ranges_.stream(unsent.range);
  sending_.push_back({to, outbox_.add(to, std::move(piece), false), bytes, now});
}

}  // namespace thalweg
