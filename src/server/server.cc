#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/planted.h"
#include "placement/placement.h"
#include "wire/fence.h"

namespace thalweg {

void Server::reply(NodeId to, const FrameHeader& request, Op op, const Status& status, Bytes first,
                   Bytes second, Transport& out) const {
  Frame frame;
  frame.head = request;
  frame.head.op = op;
  frame.head.flags = 0;
  frame.head.cluster = cluster_;
  frame.head.map_epoch = map_.epoch;
  frame.head.code = status.code();
  frame.first = status ? std::move(first)
                       : Bytes::of(std::string_view(status.message()).substr(0, limits::kTextOfStatusMax));
  frame.second = std::move(second);
  out.send(to, std::move(frame));
}

void Server::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  if (stopped_ && frame.head.op != Op::kStop) return;
  const bool orders =
      frame.head.op == Op::kWelcome || frame.head.op == Op::kMap || frame.head.op == Op::kStop;
  if (orders && from != kScheduler) return;
  if (from == kScheduler) scheduler_.heard();
  switch (frame.head.op) {
    case Op::kWelcome:
      return on_welcome(frame, out);
    case Op::kMap:
      return on_map(now, frame, out);
    case Op::kPush:
      return on_push(from, frame, out);
    case Op::kPull:
      return on_pull(from, std::move(frame), out);
    case Op::kScan:
      return on_scan(from, frame, out);
    case Op::kMarks:
      return on_marks(from, frame, out);
    case Op::kStop:
      told_to_stop_ = true;
      if (!stopped_) stopped_ = status_of(frame);
      if (id_) heartbeat(out);  // The last numbers, for the job's summary.
      return reply(kScheduler, frame.head, Op::kStop, Status::ok(), {}, {}, out);
    default:
      return;  // Nothing else is for a server; a stray answer is no reason to stop.
  }
}

void Server::on_time(Instant now, Transport& out) {
  if (const auto why = scheduler_.lost(map_)) fail({Code::kPeerLost, *why}, out);
  if (stopped_) {
    wake_ = kNever;
    return;
  }
  wake_ = now + (id_ ? wire::heartbeat_every(map_) : limits::kRetryFirst);
  if (id_) {
    scheduler_.sent_heartbeat();
    return heartbeat(out);
  }
  Frame join;
  join.head.op = Op::kJoin;
  join.first = encode(wire::Join{Role::kServer, false, options_.address, options_.name, {}});
  out.send(kScheduler, std::move(join));
}

void Server::on_peer_lost(Instant, NodeId peer, Transport& out) {
  if (peer == kScheduler) fail({Code::kPeerLost, "scheduler is gone"}, out);
}

void Server::fail(const Status& status, Transport& out) {
  if (stopped_) return;
  stopped_ = status;
  Frame frame;
  frame.head.op = Op::kEnded;
  frame.head.cluster = cluster_;
  frame.head.code = status.code();
  frame.first = Bytes::of(std::string_view(status.message()).substr(0, limits::kTextOfStatusMax));
  out.send(kScheduler, std::move(frame));
}

void Server::on_welcome(const Frame& frame, Transport& out) {
  const auto welcome = wire::decode_welcome(frame.first);
  if (!welcome || id_ || welcome->id.role != Role::kServer) return;
  id_ = welcome->id;
  cluster_ = welcome->cluster;
  out.rename_self(*id_, cluster_);
  heartbeat(out);
}

void Server::on_map(Instant now, const Frame& frame, Transport& out) {
  auto map = wire::decode_map(frame.first);
  if (!map || !id_ || map->epoch <= map_.epoch || id_->index >= map->servers.size()) return;
  const bool first = map_.epoch == 0;
  if (!first && !same_job(*map, map_)) return;
  map_ = std::move(*map);
  combine_tree_ = wire::CombineTree(map_);
  wake_ = std::min(wake_, now + wire::heartbeat_every(map_));
  if (first) {
    if (Status status = make_tables(); !status) return fail(status, out);
  }
  for (std::size_t t = 0; t < waiting_.size(); ++t) {
    std::erase_if(waiting_[t], [&](const auto& entry) {
      const FrameHeader& head = entry.second.head;
      return head.owner_epoch < map_.shards[head.shard.value].owner_epoch;
    });
  }
}

Status Server::make_tables() {
  const auto servers = static_cast<std::uint32_t>(map_.servers.size());
  const auto shards = static_cast<std::uint32_t>(map_.shards.size());
  for (const TableSpec& spec : map_.tables) {
    const RangeSpan owned = server_ranges(spec.ranges, id_->index, servers);
    tables_.push_back(nullptr);
    if (owned.size() == 0) continue;
    if (std::uint64_t{shards} * owned.size() > limits::kMarksMax) {
      return {Code::kUsage,
              fmt::format("table {}: {} data shards and {} key ranges on one server, expected at "
                          "most {} pairs of them",
                          spec.name, shards, owned.size(), limits::kMarksMax)};
    }
    std::shared_ptr<const CustomRule> custom;
    if (spec.rule.kind == RuleKind::kCustom && options_.custom_rule)
      custom = options_.custom_rule(spec.rule.custom);
    auto table = make_table(spec, owned, std::move(custom));
    if (!table) return table.status();
    tables_.back() = std::make_unique<TableHost>(std::move(table).value(), owned, map_.consistency, shards);
  }
  waiting_.resize(tables_.size());
  return Status::ok();
}

Result<TableHost*> Server::admit(const FrameHeader& head) const {
  if (Status status = wire::check_map_epoch(head, map_); !status) return status;
  if (head.table.value >= tables_.size() || tables_[head.table.value] == nullptr) {
    return Status(Code::kRefused, fmt::format("{}: no such table on {}", describe(head), node_name(*id_)));
  }
  return tables_[head.table.value].get();
}

void Server::on_push(NodeId from, const Frame& frame, Transport& out) {
  const auto host = admit(frame.head);
  Status status = host.status();
  if (host) status = wire::check_owner(from, frame.head, map_, combine_tree_);
  const std::uint64_t before = host ? (*host)->version() : 0;
  if (status) status = (*host)->push(frame);
  ++pushes_;
  push_bytes_ += frame.size_bytes();
  reply(from, frame.head, Op::kPushReply, status, {}, {}, out);
  if (host && (*host)->version() != before) answer_waiting(**host, out);
}

void Server::on_pull(NodeId from, Frame frame, Transport& out) {
  ++pulls_;
  if (answer_pull(from, frame, out)) return;
  auto& waiting = waiting_[frame.head.table.value];
  const PullKey key{from, THALWEG_BUG(kPullForgotten) ? 0 : frame.head.request};
  if (waiting.size() >= limits::kWaitingPullsMax && waiting.count(key) == 0) {
    return reply(from, frame.head, Op::kPullReply, {Code::kRetry, "too many pulls wait here"}, {}, {}, out);
  }
  const auto missing = tables_[frame.head.table.value]->waiting_for(frame.head);
  reply(from, frame.head, Op::kWaiting, Status::ok(), encode(missing), {}, out);
  waiting.insert_or_assign(key, std::move(frame));
}

// False when the pull must wait.
bool Server::answer_pull(NodeId from, const Frame& frame, Transport& out) {
  const auto host = admit(frame.head);
  Status status = host.status();
  if (host) status = wire::check_owner(from, frame.head, map_, combine_tree_);
  if (!status) {
    reply(from, frame.head, Op::kPullReply, status, {}, {}, out);
    return true;
  }
  auto rows = (*host)->pull(frame);
  if (rows.status().code() == Code::kRetry) return false;
  reply(from, frame.head, Op::kPullReply, rows.status(), {}, rows ? std::move(*rows) : Bytes(), out);
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
  Status status = wire::check_map_epoch(frame.head, map_);
  if (status) status = wire::check_owner(from, frame.head, map_, combine_tree_);
  wire::Marks marks;
  if (status) {
    for (const auto& host : tables_) {
      if (host == nullptr) continue;
      const wire::Marks one = host->marks(frame.head.shard);
      marks.add(one);
      if (THALWEG_BUG(kHeirSkipsAhead)) marks.low = one.low;
    }
  }
  reply(from, frame.head, Op::kMarksReply, status, encode(marks), {}, out);
}

void Server::on_scan(NodeId from, const Frame& frame, Transport& out) {
  const auto host = admit(frame.head);
  const TableHost* table_host = host ? *host : nullptr;
  if (table_host != nullptr && (frame.head.flags & frame_flags::kReadOnly) != 0) {
    const Bytes count = Bytes::of(std::vector<std::uint64_t>{table_host->table().stats().rows});
    return reply(from, frame.head, Op::kScanReply, Status::ok(), count, {}, out);
  }
  if (table_host == nullptr || frame.head.ranges.size() != 1) {
    const Status status = host ? Status(Code::kRefused, "a scan is for one range") : host.status();
    return reply(from, frame.head, Op::kScanReply, status, {}, {}, out);
  }
  const Table& table = table_host->table();
  const std::size_t row_bytes = sizeof(std::uint64_t) + table.stored_width() * sizeof(float);
  const std::size_t rows_max = std::max<std::size_t>(1, limits::kRequestBytesTarget / row_bytes);
  struct Block {
    std::vector<std::uint64_t> keys;
    std::vector<float> rows;
  };
  std::vector<Block> blocks(1);
  table.scan(RangeId{frame.head.ranges.begin}, [&](const RowsView& view) {
    for (std::size_t done = 0; done < view.keys.size();) {
      if (blocks.back().keys.size() == rows_max) blocks.emplace_back();
      Block& block = blocks.back();
      const std::size_t rows = std::min(view.keys.size() - done, rows_max - block.keys.size());
      const auto keys = view.keys.subspan(done, rows);
      const auto values = view.rows.subspan(done * view.width, rows * view.width);
      block.keys.insert(block.keys.end(), keys.begin(), keys.end());
      block.rows.insert(block.rows.end(), values.begin(), values.end());
      done += rows;
    }
  });
  if (THALWEG_BUG(kScanStopsShort) && !blocks.back().keys.empty()) {
    blocks.back().keys.pop_back();
    blocks.back().rows.resize(blocks.back().rows.size() - table.stored_width());
  }
  const auto count = static_cast<std::uint32_t>(blocks.size());
  for (std::uint32_t b = 0; b < count; ++b) {
    FrameHeader head = frame.head;
    head.step = {b, count};
    reply(from, head, Op::kScanReply, Status::ok(), Bytes::of(std::move(blocks[b].keys)),
          Bytes::of(std::move(blocks[b].rows)), out);
  }
}

void Server::heartbeat(Transport& out) {
  wire::Heartbeat beat;
  for (const auto& host : tables_) {
    if (host == nullptr) continue;
    const TableStats stats = host->table().stats();
    beat.rows += stats.rows;
    beat.bytes += stats.bytes;
    beat.staleness_max = std::max(beat.staleness_max, host->staleness_max());
    beat.repeats += host->repeats();
  }
  beat.pulls = pulls_;
  beat.pushes = pushes_;
  beat.push_bytes = push_bytes_;
  Frame frame;
  frame.head.op = Op::kHeartbeat;
  frame.head.cluster = cluster_;
  frame.head.map_epoch = map_.epoch;
  frame.first = encode(beat);
  out.send(kScheduler, std::move(frame));
}

}  // namespace thalweg
