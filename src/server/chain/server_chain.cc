// The part of Server that keeps copies of ranges in step along their chains, and takes over from who is lost.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/coverage/reached.h"
#include "base/planted.h"
#include "server/server.h"

namespace thalweg {

using replication::number_of;

void Server::reply_committed(NodeId to, Frame answer, Transport& out) {
  if (outbox_.committed() >= outbox_.newest() || THALWEG_BUG(kAckUncommitted)) {
    out.send(to, std::move(answer));
  } else {
    THALWEG_REACHED(kAnswerAwaitedCopies);
    committing_.push_back({outbox_.newest(), to, std::move(answer)});
  }
}

void Server::release_committed(Transport& out) {
  const std::uint64_t committed = outbox_.committed();
  for (; !committing_.empty() && committing_.front().position <= committed; committing_.pop_front())
    out.send(committing_.front().to, std::move(committing_.front().answer));
}

// A push that has come and is in no sum yet is this server's alone. Its worker goes on, and keeps it.
void Server::answer_push(NodeId from, const Frame& push, TableHost& host, Transport& out) {
  const FrameHeader& head = push.head;
  if (host.holds_back(head) && !THALWEG_BUG(kAckUncommitted)) {
    THALWEG_REACHED(kPushKept);
    kept_pushes_[head.table.value].insert_or_assign({from, head.request}, head);
    reply(from, head, Op::kWaiting, ok_status(), encode(host.waiting_for(head)), {}, out, frame_flags::kKept);
  } else {
    reply_committed(from, answer_to(head, Op::kPushReply, ok_status(), {}, {}), out);
  }
  settle_pushes(head.table.value, out);
}

void Server::settle_pushes(std::size_t table, Transport& out) {
  std::erase_if(kept_pushes_[table], [&](const auto& entry) {
    if (tables_[table]->holds_back(entry.second)) return false;
    reply_committed(entry.first.first, answer_to(entry.second, Op::kPushReply, ok_status(), {}, {}), out);
    return true;
  });
}

std::uint32_t Server::lineage_of(TableId table, RangeId range) const {
  const auto& units = units_[table.value];
  const auto unit = std::ranges::upper_bound(units, range.value, {}, &RangeSpan::begin);
  return std::uint32_t{table.value} << 16 | static_cast<std::uint32_t>(unit - units.begin() - 1);
}

std::optional<replication::StreamId> Server::next_of(TableId table, RangeSpan ranges) const {
  const RangeId first{ranges.begin};
  const auto next = map().placement[table.value].after(only(first), self());
  if (!next) return {};
  return replication::StreamId{server_node(*next), lineage_of(table, first),
                               map().placement[table.value].joined_as(first, *next)};
}

// From whom this server gets what is told of a unit's ranges, if anybody comes before it.
std::optional<replication::StreamId> Server::previous_of(TableId table, RangeId range) const {
  const auto before = map().placement[table.value].before(only(range), self());
  if (!before) return {};
  return replication::StreamId{server_node(*before), lineage_of(table, range),
                               map().placement[table.value].joined_as(range, self())};
}

// A joiner counts for nothing until it is told that it has all. What it has been sent by then comes before
// that on the stream, and is not awaited: others have it.
bool Server::awaits_next(TableId table, RangeSpan ranges) const {
  const PlacedRun& run = map().placement[table.value].run_of(RangeId{ranges.begin});
  if (run.joining == 0 || run.in_sync().back() != self()) return true;
  for (std::uint16_t range = ranges.begin; range < ranges.end; ++range) {
    if (copies_out_.has_vouched({table, RangeId{range}}, run.joining)) return !THALWEG_BUG(kJoinerNotAwaited);
  }
  return false;
}

// The first range of its unit.
RangeOf Server::unit_of(std::uint32_t lineage) const {
  const TableId table{static_cast<std::uint16_t>(lineage >> 16)};
  return {table, RangeId{units_[table.value][lineage & 0xffff].begin}};
}

// Of one chain each, and of one unit.
std::vector<RangeSpan> Server::logged_runs(std::size_t table) const {
  std::vector<RangeSpan> runs;
  for (const RangeSpan unit : units_[table]) {
    const PlacedRun& run = map().placement[table].run_of(RangeId{unit.begin});
    if (run.chain.front() == self() && run.chain.size() > 1) runs.push_back(unit);
  }
  return runs;
}

void Server::pass_on(std::size_t table, Transport& out) {
  for (const LogEntry& entry : tables_[table]->take_log()) {
    Frame frame;
    frame.head.op = Op::kEntry;
    frame.head.table = TableId{static_cast<std::uint16_t>(table)};
    frame.head.ranges = ranges_of(entry);
    const auto next = next_of(frame.head.table, frame.head.ranges);
    if (!next) continue;
    EntrySegments bytes = encode(entry);
    frame.first = std::move(bytes.first);
    frame.second = std::move(bytes.second);
    copy_value_bytes_ += frame.second.size();
    const bool awaited = awaits_next(frame.head.table, frame.head.ranges);
    if (!awaited) THALWEG_REACHED(kJoinerNotAwaited);
    outbox_.add(*next, std::move(frame), awaited);
  }
  send_entries(out);
}

void Server::send_entries(Transport& out) {
  outbox_.send_due(now_, [&](NodeId to, Frame frame) {
    member_.stamp(frame.head);
    out.send(to, std::move(frame));
  });
}

// Only from who comes before this server in the ranges' chain by its own map, as both came there: who was
// taken out of it changes nothing any more, whatever it believes. Of ranges that have yet to be copied here
// it takes what it is told and forgets it, for the copy that comes behind it on the stream has it.
bool Server::takes_from(NodeId from, const FrameHeader& head) const {
  const std::size_t t = head.table.value;
  const RangeSpan ranges = head.ranges;
  if (t >= copies_.size() || from.role != Role::kServer || ranges.begin >= ranges.end ||
      ranges.end > map().tables[t].ranges)
    return false;
  for (const std::uint16_t range : {ranges.begin, static_cast<std::uint16_t>(ranges.end - 1)}) {
    if (lineage_of(head.table, RangeId{range}) != head.shard.value) return false;
  }
  const replication::StreamId stream{from, head.shard.value, head.version};
  return previous_of(head.table, RangeId{ranges.begin}) == stream ||
         (THALWEG_BUG(kFormerOwnerHeard) && inbound_.contains(stream));
}

Status Server::replay(const Frame& entry) {
  const std::size_t t = entry.head.table.value;
  const auto shards = static_cast<std::uint32_t>(map().shards.size());
  auto decoded = decode_log_entry({entry.first, entry.second}, map().tables[t], shards);
  if (!decoded || ranges_of(*decoded) != entry.head.ranges) return {Code::kData, "it is no entry"};
  return copies_[t]->replay(*std::move(decoded));
}

void Server::on_entry(NodeId from, const Frame& frame, Transport& out) {
  const FrameHeader& head = frame.head;
  if (!takes_from(from, head)) {
    if (head.map_epoch > map().epoch && from.role == Role::kServer) return refuse_entry(from, head, out);
    THALWEG_REACHED(kEntryOfFormer);
    return;
  }
  const replication::StreamId stream{from, head.shard.value, head.version};
  Inbound& inbound = inbound_[stream];
  const std::uint64_t number = number_of(head);
  if (number > inbound.expected) {  // What comes before it is sent again.
    THALWEG_REACHED(kEntryAhead);
    return;
  }
  const bool again = number < inbound.expected, copy = head.op == Op::kCopy;
  if (again) THALWEG_REACHED(kEntryRepeated);
  if (!again || (THALWEG_BUG(kEntryTwice) && !copy)) {
    if (const Status status = copy ? take_piece(from, frame) : replay(frame); !status.ok()) {
      return member_.fail(
          {Code::kData, fmt::format("entry {} of {} for table {} ranges [{},{}): {}", number, node_name(from),
                                    head.table.value, head.ranges.begin, head.ranges.end, status.message())},
          out);
    }
  }
  if (!again) {
    ++inbound.expected;
    inbound.passed.push_back({number, {}, 0});
    if (!copy) hand_on(inbound.passed.back(), frame);
    send_entries(out);
  }
  acknowledge_entries(stream, again, out);
  if (copy && !again && has_all_of(from)) tell_joined(out);
}

// Where who comes next has yet to be sent a copy, this server acknowledges for itself.
void Server::hand_on(Inbound::Passed& passed, Frame entry) {
  const TableId table = entry.head.table;
  const RangeSpan ranges = entry.head.ranges;
  const auto next = next_of(table, ranges);
  if (!next) return;
  const bool awaited = awaits_next(table, ranges);
  copy_value_bytes_ += entry.second.size();
  passed.position = outbox_.add(*next, std::move(entry), awaited);
  if (awaited) passed.to = next;
}

// By whose map it comes behind the sender is on its way here: sooner than the sender would wonder.
void Server::refuse_entry(NodeId from, const FrameHeader& entry, Transport& out) {
  THALWEG_REACHED(kEntryRefused);
  Frame answer;
  answer.head.op = Op::kEntryReply;
  answer.head.code = Code::kRetry;
  answer.head.shard = entry.shard;
  answer.head.version = entry.version;
  answer.head.step = entry.step;
  member_.stamp(answer.head);
  out.send(from, std::move(answer));
}

void Server::acknowledge_entries(replication::StreamId before, bool again, Transport& out) {
  Inbound& inbound = inbound_[before];
  const auto done = [&](const Inbound::Passed& entry) {
    return !entry.to || outbox_.acknowledged(*entry.to, entry.position);
  };
  const std::size_t open = inbound.passed.size();
  while (!inbound.passed.empty() && done(inbound.passed.front())) inbound.passed.pop_front();
  if (inbound.passed.size() == open && !again) return;
  Frame answer;
  answer.head.op = Op::kEntryReply;
  answer.head.shard = ShardId{before.lineage};
  answer.head.version = before.attempt;
  answer.head.step =
      replication::step_of(inbound.passed.empty() ? inbound.expected : inbound.passed.front().number);
  member_.stamp(answer.head);
  out.send(before.server, std::move(answer));
}

void Server::on_entry_reply(NodeId from, const Frame& frame, Transport& out) {
  const replication::StreamId stream{from, frame.head.shard.value, frame.head.version};
  if (frame.head.code == Code::kRetry) return outbox_.on_refused(now_, stream, number_of(frame.head));
  outbox_.on_acknowledged(now_, stream, number_of(frame.head));
  release_committed(out);
  for (const auto& [before, inbound] : inbound_) {
    if (!inbound.passed.empty()) acknowledge_entries(before, false, out);
  }
  send_copies(out);
}

// Ranges that come to this server and of which it has a copy.
void Server::take_over(std::size_t table, Transport& out) {
  TableHost& copy = *copies_[table];
  RangeSet mine;
  const RangeSet placed = map().placement[table].owned_by(self());
  for (const RangeSpan run : placed.runs()) {
    for (std::uint16_t range = run.begin; range < run.end; ++range) {
      if (copy.owned().contains(RangeId{range})) mine.add(only(RangeId{range}));
    }
  }
  if (mine.empty()) return;
  THALWEG_REACHED(kTakenOver);
  room_left_ = 0;
  if (Status adopted = tables_[table]->take_over(copy, mine); !adopted.ok())
    member_.fail(std::move(adopted), out);
}

// What was on its way to a server that comes no more behind this one goes to who does now, and who comes
// before this one waits for that.
void Server::mend_chains(Transport& out) {
  const auto is_next = [&](const replication::StreamId& stream) {
    const auto [table, range] = unit_of(stream.lineage);
    return next_of(table, only(range)) == stream;
  };
  const auto is_previous = [&](const replication::StreamId& stream) {
    const auto [table, range] = unit_of(stream.lineage);
    return previous_of(table, range) == stream;
  };
  std::map<replication::StreamId, std::pair<std::optional<replication::StreamId>, std::uint64_t>> newest;
  for (auto& [stream, frame] : outbox_.drop(std::not_fn(is_next))) {
    const auto next = next_of(frame.head.table, frame.head.ranges);
    if (!next || frame.head.op == Op::kCopy) continue;
    THALWEG_REACHED(kChainMended);
    const bool awaited = awaits_next(frame.head.table, frame.head.ranges);
    newest[stream] = {awaited ? next : std::nullopt, outbox_.add(*next, std::move(frame), awaited)};
  }
  for (auto& [before, inbound] : inbound_) {
    for (Inbound::Passed& passed : inbound.passed) {
      const auto again = passed.to ? newest.find(*passed.to) : newest.end();
      if (again != newest.end()) std::tie(passed.to, passed.position) = again->second;
    }
  }
  std::erase_if(inbound_, [&](const auto& before) {
    return !is_previous(before.first) && !THALWEG_BUG(kFormerOwnerHeard);
  });
  for (const auto& [before, inbound] : inbound_) acknowledge_entries(before, true, out);
}

}  // namespace thalweg
