#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coverage/reached.h"
#include "base/planted.h"
#include "table/dense_table.h"

namespace thalweg {

using News = cluster::Membership::News;

Server::Server(ServerOptions options)
    : options_(std::move(options)),
      member_(Role::kServer, options_.member),
      copies_out_(ranges_to_copy(), outbox_, options_.copy_piece_bytes),
      work_(options_.store_cut) {}

Frame Server::answer_to(const FrameHeader& request, Op op, const Status& status, Bytes first, Bytes second,
                        std::uint8_t flags) {
  Frame frame;
  frame.head = request;
  frame.head.op = op;
  frame.head.flags = flags;
  frame.first = std::move(first);
  member_.stamp(frame.head);
  put_status(frame, status);
  frame.second = std::move(second);
  if (request.op == Op::kPush || request.op == Op::kPull) sent_bytes_ += frame.size_bytes();
  return frame;
}

void Server::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  now_ = now;
  switch (member_.hear(now, from, frame, out)) {
    case News::kNone:
      return;
    case News::kWelcome:
      return member_.speak(now, counters(), out);
    case News::kFirstMap:
      return on_map(true, out);
    case News::kMap:
      return on_map(false, out);
    case News::kStop:
      if (member_.id()) member_.speak(now, counters(), out);  // The last numbers, for the job's summary.
      return member_.confirm_stop(out);
    case News::kOther:
      break;
  }
  switch (frame.head.op) {
    case Op::kPush:
      return on_push(from, frame, out);
    case Op::kPull:
      return on_pull(from, std::move(frame), out);
    case Op::kScan:
      return on_scan(from, frame, out);
    case Op::kMarks:
      return on_marks(from, frame, out);
    case Op::kLoad:
      return on_load(from, frame, out);
    case Op::kEntry:
    case Op::kCopy:
      return on_entry(from, frame, out);
    case Op::kEntryReply:
      return on_entry_reply(from, frame, out);
    case Op::kCheckpoint:
      return from == kScheduler ? on_checkpoint(frame, out) : void();
    default:
      return;  // Nothing else is for a server; a stray answer is no reason to stop.
  }
}

void Server::on_time(Instant now, Transport& out) {
  if (const auto why = member_.scheduler_lost()) {
    THALWEG_REACHED(kSchedulerGivenUp);
    member_.fail({Code::kPeerLost, *why}, out);
  }
  now_ = now;
  if (now >= member_.next_deadline()) {
    member_.speak(now, counters(), out);
    if (copies_in_.any_joined() && !finished()) tell_joined(out);  // It may have been lost on the way.
  }
  if (now >= outbox_.next_deadline() && !finished()) send_entries(out);
  if (now >= closes_at_) close_expired(out);
}

void Server::close_expired(Transport& out) {
  closes_at_ = kNever;
  for (const auto& host : tables_) {
    if (finished()) return;
    const std::uint64_t before = host->version();
    host->close_expired(now_);
    if (host->version() != before) answer_waiting(*host, out);
    closes_at_ = std::min(closes_at_, host->closes_at(now_));
  }
}

void Server::on_peer_lost(Instant, NodeId peer, Transport& out) {
  if (peer != kScheduler) return;
  if (!member_.awaits_scheduler()) return member_.fail({Code::kPeerLost, "scheduler is gone"}, out);
  member_.call_scheduler(out);
}

// All requests were asked under older maps; whoever waits asks again under this one, where that is now. Once
// ranges have moved, the scheduler is told at once that this server acts by the new map.
void Server::on_map(bool first, Transport& out) {
  committing_.clear();
  for (auto& table : kept_pushes_) table.clear();
  for (auto& table : waiting_) table.clear();
  for (std::uint32_t s = 0; s < map().servers.size(); ++s) {
    if (s != self()) out.introduce(server_node(s), map().servers[s]);
  }
  if (first) {
    if (Status status = make_tables(); !status.ok()) return member_.fail(std::move(status), out);
    for (const TableSpec& table : map().tables)
      units_.push_back(chain_units(table.ranges, map().first_servers()));
  } else {
    bool moved = false;  // Who only joins a chain changes nothing of what is owned.
    for (std::size_t t = 0; t < tables_.size(); ++t)
      moved = moved || tables_[t]->owned() != map().placement[t].owned_by(self());
    if (moved) forget_cut(out);
    follow_placement(out);
    mend_chains(out);
  }
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    tables_[t]->log_changes(logged_runs(t));
    pass_on(t, out);
  }
  if (!first && member_.ranges_moved() && !finished()) member_.speak(now_, counters(), out);
  if (!finished()) follow_joins(out);
}

Status Server::check_marks(const TableSpec& spec, std::size_t ranges) const {
  const std::size_t shards = map().shards.size();
  if (shards * ranges <= limits::kMarksMax) return ok_status();
  return {Code::kUsage, fmt::format("table {}: {} data shards and {} key ranges on one server, expected at "
                                    "most {} pairs of them",
                                    spec.name, shards, ranges, limits::kMarksMax)};
}

Result<std::unique_ptr<TableHost>> Server::make_host(std::size_t table, const RangeSet& owned) const {
  const TableSpec& spec = map().tables[table];
  if (Status status = check_marks(spec, owned.size()); !status.ok()) return status;
  std::shared_ptr<const CustomRule> custom;
  if (spec.rule.kind == RuleKind::kCustom && options_.custom_rule)
    custom = options_.custom_rule(spec.rule.custom);
  auto made = make_table(spec, owned, std::move(custom), options_.threads.get());
  if (!made) return made.status();
  return std::make_unique<TableHost>(*std::move(made), map().consistency,
                                     static_cast<std::uint32_t>(map().shards.size()), map().first,
                                     options_.heirs_come);
}

// Dense tables are made whole, so that pushes need no room for their rows.
Status Server::check_dense_room() const {
  const std::uint64_t most = options_.table_bytes_max;
  double bytes = 0;
  for (std::size_t t = 0; t < map().tables.size(); ++t) {
    const TableSpec& spec = map().tables[t];
    if (spec.kind != TableSpec::Kind::kDense) continue;
    const std::size_t ranges =
        map().placement[t].owned_by(self()).size() + map().placement[t].copied_by(self()).size();
    bytes += static_cast<double>(dense_bytes(spec)) * static_cast<double>(ranges) / spec.ranges;
  }
  if (most == 0 || bytes <= static_cast<double>(most)) return ok_status();
  return {Code::kData,
          fmt::format("{} is to keep {:.0f} bytes of dense tables, with optimizer state, and its tables may "
                      "take {} bytes (--memory)\nhint: make the model smaller, allow more by --memory, or "
                      "start more servers",
                      node_name(*member_.id()), bytes, most)};
}

// By the first map that comes, under which nothing has been pushed yet. Where it is not the job's first, a
// lost server may have shown shards what is owned here.
Status Server::make_tables() {
  if (Status status = check_dense_room(); !status.ok()) return status;
  for (std::size_t t = 0; t < map().tables.size(); ++t) {
    const Placement& placement = map().placement[t];
    for (auto* const hosts : {&tables_, &copies_}) {
      auto host = make_host(t, hosts == &tables_ ? placement.owned_by(self()) : placement.copied_by(self()));
      if (!host) return host.status();
      hosts->push_back(*std::move(host));
    }
    if (map().epoch > 1 && !THALWEG_BUG(kEarlierOwnersForgotten)) tables_.back()->keep_images();
  }
  waiting_.resize(tables_.size());
  kept_pushes_.resize(tables_.size());
  awaited_.resize(tables_.size());
  return ok_status();
}

// From now on nothing is answered about ranges that others own, nor about those that have yet to come.
void Server::follow_placement(Transport& out) {
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    TableHost& host = *tables_[t];
    const RangeSet placed = map().placement[t].owned_by(self());
    if (const RangeSet lost = host.owned() - placed; !lost.empty()) {
      if (!map().by_hand && !THALWEG_BUG(kOldOwnerAnswers)) {
        host.drop(lost);  // Who owns them now had them already.
      } else {
        std::vector<RangeState> states = host.give_up(lost);
        if (THALWEG_BUG(kOldOwnerAnswers)) static_cast<void>(host.adopt(states));
        for (RangeState& state : states) {
          if (!map().by_hand) break;
          const RangeId range = state.range;
          given_up_.insert_or_assign({TableId{t}, range}, std::move(state));
        }
      }
    }
    take_over(t, out);
    awaited_[t] = placed - host.owned();
  }
}

void Server::adopt(TableId table, std::vector<RangeState> states, Transport& out) {
  TableHost& host = *tables_[table.value];
  Status status = check_marks(host.table().spec(), host.owned().size() + states.size());
  if (status.ok()) status = host.adopt(std::move(states));
  if (!status.ok()) return member_.fail(status, out);
  room_left_ = 0;
  awaited_[table.value] = awaited_[table.value] - host.owned();
  pass_on(table.value, out);
}

Result<TableHost*> Server::admit(const FrameHeader& head) const {
  const std::size_t t = head.table.value;
  const bool had = THALWEG_BUG(kOldOwnerAnswers) && t < tables_.size() &&
                   (tables_[t]->owned() - map().placement[t].owned_by(self())).intersects(head.ranges);
  if (Status status = member_.check_map_epoch(head); !status.ok() && !had) return status;
  if (t >= tables_.size() || (tables_[t]->owned().empty() && awaited_[t].empty())) {
    return Status(Code::kRefused,
                  fmt::format("{}: no such table on {}", describe(head), node_name(*member_.id())));
  }
  const bool counts = head.op == Op::kScan && (head.flags & frame_flags::kReadOnly) != 0;
  if (counts ? !awaited_[t].empty() : awaited_[t].intersects(head.ranges)) {
    THALWEG_REACHED(kRangesAwaited);
    return Status(Code::kRetry, fmt::format("{}: {} awaits ranges {}", describe(head),
                                            node_name(*member_.id()), text_of(awaited_[t])));
  }
  return tables_[t].get();
}

// Tables are looked at only when what was left of them the last time may have been used up.
std::uint64_t Server::room_for(const TableHost& host, const Frame& push) {
  if (options_.table_bytes_max == 0) return TableHost::kAllRoom;
  const std::uint64_t bytes = host.bytes_at_most(push);
  if (bytes > room_left_) {
    for (const auto& copy : copies_) copy->redo(0);
    std::uint64_t used = 0;
    for (const auto* const hosts : {&tables_, &copies_}) {
      for (const auto& table : *hosts) used += table->bytes_in_use();
    }
    room_left_ = options_.table_bytes_max - std::min(used, options_.table_bytes_max);
  }
  const std::uint64_t room = room_left_;
  room_left_ -= std::min(bytes, room_left_);
  return room;
}

void Server::on_push(NodeId from, const Frame& frame, Transport& out) {
  const auto host = admit(frame.head);
  Status status = host.status();
  if (host) status = member_.check_owner(from, frame.head);
  const std::uint64_t before = host ? (*host)->version() : 0;
  if (status.ok() && outbox_.bytes() > limits::kLogBytesMax)
    status = {Code::kRetry, fmt::format("{}: copies lag behind", describe(frame.head))};
  if (status.ok()) status = (*host)->push(frame, room_for(**host, frame));
  if (status.code() == Code::kData) {
    status = {Code::kData, fmt::format("{}; of all its tables, {} bytes are allowed", status.message(),
                                       options_.table_bytes_max)};
  }
  ++pushes_;
  push_bytes_ += frame.size_bytes();
  push_value_bytes_ += frame.second.size();
  // Who comes again and again learns that others get on meanwhile, and whom it waits for.
  if (host && status.code() == Code::kRetry) {
    THALWEG_REACHED(kPushHeldUp);
    reply(from, frame.head, Op::kWaiting, ok_status(), encode((*host)->waiting_for(frame.head)), {}, out);
  }
  if (!status.ok() || !(*host)->logs()) {
    reply(from, frame.head, Op::kPushReply, status, {}, {}, out);
  } else {
    pass_on(frame.head.table.value, out);
    answer_push(from, frame, **host, out);
  }
  if (!host || (*host)->version() == before) return;
  closes_at_ = std::min(closes_at_, (*host)->closes_at(now_));
  collect_cut();
  answer_waiting(**host, out);
  if (!copies_out_.is_done()) send_copies(out);
}

void Server::on_pull(NodeId from, Frame frame, Transport& out) {
  ++pulls_;
  if (answer_pull(from, frame, out)) return;
  auto& waiting = waiting_[frame.head.table.value];
  const PullKey key{from, THALWEG_BUG(kPullForgotten) ? 0 : frame.head.request};
  if (waiting.size() >= limits::kWaitingPullsMax && waiting.count(key) == 0) {
    return reply(from, frame.head, Op::kPullReply, {Code::kRetry, "too many pulls wait here"}, {}, {}, out);
  }
  THALWEG_REACHED(kPullWaited);
  const auto missing = tables_[frame.head.table.value]->waiting_for(frame.head);
  reply(from, frame.head, Op::kWaiting, ok_status(), encode(missing), {}, out);
  waiting.insert_or_assign(key, std::move(frame));
}

// False when the pull must wait.
bool Server::answer_pull(NodeId from, const Frame& frame, Transport& out) {
  const auto host = admit(frame.head);
  Status status = host.status();
  if (host) status = member_.check_owner(from, frame.head);
  if (!status.ok()) {
    reply(from, frame.head, Op::kPullReply, status, {}, {}, out);
    return true;
  }
  auto rows = (*host)->pull(frame);
  if (rows.status().code() == Code::kRetry) return false;
  const bool late = rows.ok() && (*host)->is_late(frame.head.step);
  FrameHeader head = frame.head;
  if (rows) head.version = (*host)->version_of(head.ranges);
  Frame answer = answer_to(head, Op::kPullReply, rows.status(), {}, rows ? std::move(*rows) : Bytes(),
                           late ? frame_flags::kLate : std::uint8_t{0});
  // What sync mode shows comes about again, with the same bits, where it is lost.
  if (map().consistency.kind == Consistency::Kind::kSync) {
    out.send(from, std::move(answer));
  } else {
    reply_committed(from, std::move(answer), out);
  }
  return true;
}

void Server::answer_waiting(TableHost& host, Transport& out) {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (tables_[t].get() != &host) continue;
    std::erase_if(waiting_[t],
                  [&](auto& entry) { return answer_pull(entry.first.first, entry.second, out); });
  }
}

void Server::on_marks(NodeId from, const Frame& frame, Transport& out) {
  Status status = member_.check_map_epoch(frame.head);
  if (!status.ok()) return reply(from, frame.head, Op::kMarksReply, status, {}, {}, out);
  status = member_.check_owner(from, frame.head);
  const auto awaits = [](const RangeSet& awaited) { return !awaited.empty(); };
  if (status.ok() && std::ranges::any_of(awaited_, awaits))
    status = {Code::kRetry, fmt::format("{} awaits ranges", node_name(*member_.id()))};
  Reached marks;
  if (status.ok()) {
    for (const auto& host : tables_) {
      if (host->owned().empty()) continue;
      const Reached one = host->marks(frame.head.shard);
      marks.add(one);
      if (THALWEG_BUG(kHeirSkipsAhead)) marks.low = one.low;
    }
  }
  reply_committed(from, answer_to(frame.head, Op::kMarksReply, status, wire::encode(marks), {}), out);
}

void Server::on_scan(NodeId from, const Frame& frame, Transport& out) {
  const auto host = admit(frame.head);
  const TableHost* table_host = host ? *host : nullptr;
  if (table_host != nullptr && (frame.head.flags & frame_flags::kReadOnly) != 0) {
    const Bytes count = Bytes::of(std::vector<std::uint64_t>{table_host->table().stats().rows});
    return reply(from, frame.head, Op::kScanReply, ok_status(), count, {}, out);
  }
  if (table_host == nullptr || frame.head.ranges.size() != 1) {
    const Status status = host ? Status(Code::kRefused, "a scan is for one range") : host.status();
    return reply(from, frame.head, Op::kScanReply, status, {}, {}, out);
  }
  const Table& table = table_host->table();
  if (!table.owned().contains(frame.head.ranges)) {
    const Status status(Code::kRefused, fmt::format("{}: this server owns ranges {}", describe(frame.head),
                                                    text_of(table.owned())));
    return reply(from, frame.head, Op::kScanReply, status, {}, {}, out);
  }
  const std::size_t row_bytes = sizeof(std::uint64_t) + table.stored_width() * sizeof(float);
  const std::size_t rows_max = std::max<std::size_t>(1, limits::kRequestBytesTarget / row_bytes);
  struct Block {
    std::vector<std::uint64_t> keys;
    std::vector<float> rows;
  };
  const RangeId range{frame.head.ranges.begin};
  std::vector<Block> blocks(1);
  table.copy_rows(range, 0, rows_max, blocks[0].keys, blocks[0].rows);
  while (blocks.back().keys.size() == rows_max) {
    Block next;
    table.copy_rows(range, blocks.back().keys.back() + 1, rows_max, next.keys, next.rows);
    if (next.keys.empty()) break;
    blocks.push_back(std::move(next));
  }
  if (THALWEG_BUG(kScanStopsShort) && !blocks.back().keys.empty()) {
    blocks.back().keys.pop_back();
    blocks.back().rows.resize(blocks.back().rows.size() - table.stored_width());
  }
  const auto count = static_cast<std::uint32_t>(blocks.size());
  for (std::uint32_t b = 0; b < count; ++b) {
    FrameHeader head = frame.head;
    head.step = in_place_of_step(ScanBlock{b, count});
    reply(from, head, Op::kScanReply, ok_status(), Bytes::of(std::move(blocks[b].keys)),
          Bytes::of(std::move(blocks[b].rows)), out);
  }
}

void Server::on_load(NodeId from, const Frame& frame, Transport& out) {
  const auto host = admit(frame.head);
  if (!host) return reply(from, frame.head, Op::kLoadReply, host.status(), {}, {}, out);
  Status status;
  if (frame.head.shard != kNoShard)
    status = {Code::kRefused, fmt::format("{}: rows are loaded by an observer", describe(frame.head))};
  const bool rows = (frame.head.flags & frame_flags::kState) == 0;
  if (status.ok()) status = rows ? (*host)->load(frame, room_for(**host, frame)) : (*host)->begin(frame);
  if (status.ok()) pass_on(frame.head.table.value, out);
  reply_committed(from, answer_to(frame.head, Op::kLoadReply, status, {}, {}), out);
}

Counters Server::counters() const {
  Counters sum;
  for (const auto& host : tables_) {
    const TableStats stats = host->stats();
    sum.count(CounterId::kRows, stats.rows);
    sum.count(CounterId::kTableBytes, stats.bytes);
    host->leads().count_in(sum);
    sum.count(CounterId::kRepeats, host->repeats());
    sum.count(CounterId::kPushesDropped, host->pushes_dropped());
  }
  for (const auto& copy : copies_) sum.count(CounterId::kTableBytes, copy->stats().bytes);
  sum.count(CounterId::kPulls, pulls_);
  sum.count(CounterId::kPushes, pushes_);
  sum.count(CounterId::kPushBytes, push_bytes_);
  sum.count(CounterId::kSentBytes, sent_bytes_);
  sum.count(CounterId::kPushValueBytes, push_value_bytes_);
  sum.count(CounterId::kCopyValueBytes, copy_value_bytes_);
  return sum;
}

}  // namespace thalweg
