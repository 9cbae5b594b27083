#include "worker/request_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/coverage/reached.h"
#include "base/planted.h"
#include "cluster/pace.h"

namespace thalweg {
namespace {

Rows gathered(const std::vector<Bytes>& answers) {
  if (answers.size() == 1) return Rows(answers[0].owner(), answers[0].as<float>());
  std::size_t total = 0;
  for (const Bytes& part : answers) total += part.size() / sizeof(float);
  std::vector<float> rows;
  rows.reserve(total);
  for (const Bytes& part : answers) {
    const auto floats = part.as<float>();
    rows.insert(rows.end(), floats.begin(), floats.end());
  }
  return Rows(std::move(rows));
}

}  // namespace

std::shared_ptr<Request> RequestBook::make_request(RequestKind kind, ShardId shard, Step step) {
  auto request = std::make_shared<Request>();
  request->kind = kind;
  request->shard = shard;
  request->step = step;
  request->started = turn_.now;
  request->deadline = (THALWEG_BUG(kClockFromZero) ? Instant{} : turn_.now) + map().timeout;
  return request;
}

void RequestBook::send_part(const std::shared_ptr<Request>& request, std::size_t position, NodeId to,
                            Frame frame) {
  const std::uint32_t number = next_request_++;
  frame.head.request = number;
  frame.head.shard = request->shard;
  ++request->open;
  ++request->missing_parts;
  auto& part = parts_[number];
  part.request = request;
  part.position = position;
  part.to = part.by = to;
  part.frame = std::move(frame);
  part.sent_at = turn_.now;
  part.backoff = retry_timer_.first_wait();
  part.refusal_wait = limits::kRefusalWaitFirst;
  transmit(part);
}

void RequestBook::transmit(RequestPart& part) {
  member_.stamp(part.frame.head);
  part.retry_at = turn_.now + std::min(part.backoff, cluster::retry_max(map()));
  if (THALWEG_BUG(kNoRetry)) part.retry_at = part.request->deadline;
  if (THALWEG_BUG(kAddressMatters))
    part.retry_at = part.retry_at + Duration(reinterpret_cast<std::intptr_t>(&part) & 0xfffff);
  part.backoff = std::min<Duration>(part.backoff * 2, limits::kRetryMax);
  wake_ = std::min(wake_, part.retry_at);
  part.by = relay_.next_hop(part).value_or(part.to);
  if (part.by == member_.id()) return relay_.add(turn_.now, part.by, part.frame);
  const Op op = part.frame.head.op;
  if (op == Op::kPush || op == Op::kPull) sent_bytes_ += part.frame.size_bytes();
  turn_.out->send(part.by, part.frame);
}

// One frame a slice, each like `head` but for what it is about.
void RequestBook::send_slices(const std::shared_ptr<Request>& request, std::size_t position,
                              const Frame& head, std::vector<Slice> slices) {
  for (Slice& one : slices) {
    Frame frame = head;
    frame.head.ranges = one.ranges;
    frame.first = std::move(one.payload.keys);
    frame.second = std::move(one.payload.values);
    const NodeId owner = *owner_of(map(), frame.head);
    send_part(request, position++, owner, std::move(frame));
  }
}

void RequestBook::begin(StoreCall call, ShardId shard, std::uint32_t owner_epoch) {
  const auto open = [&](RequestKind kind) {
    auto request = make_request(kind, shard, call.step);
    request->completion = call.completion;
    return request;
  };
  Frame frame;
  frame.head.owner_epoch = owner_epoch;
  switch (call.kind) {
    case StoreCall::Kind::kPush:
      return send_rows(open(RequestKind::kPush), call, owner_epoch);
    case StoreCall::Kind::kPull:
      return send_rows(open(RequestKind::kPull), call, owner_epoch);
    case StoreCall::Kind::kBarrier:
      frame.head.op = Op::kBarrier;
      frame.head.step = call.step;
      return send_part(open(RequestKind::kBarrier), 0, kScheduler, std::move(frame));
    case StoreCall::Kind::kReport:
      frame.head.op = Op::kReport;
      frame.head.flags = call.flags;
      frame.head.step = call.step;
      frame.first = Bytes::of(call.text);
      return send_part(open(RequestKind::kReport), 0, kScheduler, std::move(frame));
    case StoreCall::Kind::kScan: {
      frame.head = {};
      frame.head.op = Op::kScan;
      frame.head.table = call.table;
      frame.head.ranges = only(call.range);
      const NodeId owner = *owner_of(map(), frame.head);
      return send_part(open(RequestKind::kScan), 0, owner, std::move(frame));
    }
    case StoreCall::Kind::kCount: {
      const auto request = open(RequestKind::kCount);
      request->table = call.table;
      return ask_servers(request);
    }
    case StoreCall::Kind::kLoad: {
      frame.head = {};
      frame.head.op = Op::kLoad;
      frame.head.table = call.table;
      frame.head.ranges = only(call.range);
      frame.head.flags = call.flags;
      frame.first = Bytes(call.keys.values(), std::as_bytes(std::span(*call.keys.values())));
      if ((call.flags & frame_flags::kState) != 0) frame.first = Bytes::of(call.text);
      frame.second = Bytes(call.grads.owner(), std::as_bytes(call.grads.span()));
      const NodeId owner = *owner_of(map(), frame.head);
      return send_part(open(RequestKind::kLoad), 0, owner, std::move(frame));
    }
    case StoreCall::Kind::kYield:
      THALWEG_CHECK(false, "a yield is nobody's to answer");
  }
}

// A push or a pull.
void RequestBook::send_rows(const std::shared_ptr<Request>& request, const StoreCall& call,
                            std::uint32_t owner_epoch) {
  const bool push = request->kind == RequestKind::kPush;
  request->table = call.table;
  const TableSpec& spec = map().tables[call.table.value];
  auto slices = slice(spec, map().placement[call.table.value], {0, spec.ranges},
                      push ? payload_of_push(call.keys, call.grads) : payload_of_pull(call.keys));
  if (!push) {
    std::erase_if(slices, [](const Slice& one) { return one.payload.empty(); });
    request->answers.resize(slices.size());
  }
  Frame head;
  head.head.op = push ? Op::kPush : Op::kPull;
  head.head.flags = call.flags;
  head.head.table = call.table;
  head.head.owner_epoch = owner_epoch;
  head.head.step = call.step;
  head.head.version = call.version;
  send_slices(request, 0, head, std::move(slices));
}

void RequestBook::ask_marks(ShardId shard) { ask_servers(make_request(RequestKind::kMarks, shard, Step{})); }

void RequestBook::pass_on(Combiner::Batch batch) {
  const FrameHeader head = batch.frame.head;
  auto request = make_request(RequestKind::kCombined, head.shard, head.step);
  request->askers = std::move(batch.askers);
  send_part(request, 0, *owner_of(map(), head), std::move(batch.frame));
  if (THALWEG_BUG(kLeadAcksEarly)) finish(request, ok_status());
}

void RequestBook::follow(Frame ask) {
  const FrameHeader head = ask.head;
  auto request = make_request(RequestKind::kFollow, kNoShard, Step{});
  request->table = head.table;
  request->ranges = head.ranges;
  request->answers.resize(1);
  send_part(request, 0, *owner_of(map(), head), std::move(ask));
}

// Whether its server answers at once, or says that it waits.
bool RequestBook::is_timed(const RequestPart& part) {
  const RequestKind kind = part.request->kind;
  const bool rows =
      kind == RequestKind::kPush || kind == RequestKind::kPull || kind == RequestKind::kCombined;
  return rows && part.by == part.to;
}

void RequestBook::note_word(RequestPart& part) {
  if (part.fresh && is_timed(part)) retry_timer_.on_answer(turn_.now - part.sent_at);
  part.fresh = false;
}

void RequestBook::note_kept(RequestPart& part) {
  if (std::exchange(part.kept, true) || --part.request->missing_parts > 0) return;
  const auto request = part.request;
  on_kept_(*request);
}

void RequestBook::on_waiting(NodeId from, const Frame& frame) {
  const auto found = parts_.find(frame.head.request);
  const auto waiting = wire::decode_waiting(frame.first);
  if (found == parts_.end() || !waiting) return;
  RequestPart& part = found->second;
  const bool kept = part.frame.head.op == Op::kPush && (frame.head.flags & frame_flags::kKept) != 0;
  if (from != part.to && !(kept && from == part.by)) return;
  note_word(part);
  Request& request = *part.request;
  request.missing = waiting->missing;
  if (waiting->progress != part.progress) {
    part.progress = waiting->progress;
    request.deadline = turn_.now + map().timeout;
  }
  if (!kept) return;
  part.backoff = cluster::retry_max(map());
  part.retry_at = turn_.now + part.backoff;
  note_kept(part);
}

void RequestBook::on_answer(NodeId from, Frame& frame) {
  const auto found = parts_.find(frame.head.request);
  if (found == parts_.end() || found->second.by != from)
    return;  // An answer to a repeat that was answered before.
  RequestPart& part = found->second;
  if (static_cast<int>(frame.head.op) != static_cast<int>(part.frame.head.op) + 1) return;
  note_word(part);
  switch (frame.head.code) {
    case Code::kOk:
      // What others had done by then may be where only a newer map sends this node.
      if (frame.head.op == Op::kBarrierReply && frame.head.map_epoch > map().epoch &&
          !THALWEG_BUG(kBarrierByOldMap)) {
        THALWEG_REACHED(kBarrierAhead);
        retry_refused(part);
        return ask_for_map();
      }
      return finish_part(found, frame);
    case Code::kRetry:
      if (part.request->kind == RequestKind::kCombined && !sums_replace()) {
        THALWEG_REACHED(kSumRefused);
        return finish(part.request, status_of(frame));
      }
      return retry_refused(part);
    case Code::kStale:
      THALWEG_REACHED(kMapFetched);
      return ask_for_map();
    default: {
      const auto request = part.request;
      finish(request, {frame.head.code, fmt::format("{}: {}", node_name(from), status_of(frame).message())});
    }
  }
}

// Many answers may say so, and a worker that reads a map for each of them does nothing else.
void RequestBook::ask_for_map() {
  if (map().epoch == asked_as_of_ && turn_.now < ask_again_at_) return;
  asked_as_of_ = map().epoch;
  ask_again_at_ = turn_.now + limits::kRetryFirst;
  member_.tell(Op::kGetMap, ok_status(), {}, *turn_.out);
}

// The peer is there and was not ready, which is over sooner than a loss would be noticed.
void RequestBook::retry_refused(RequestPart& part) {
  part.retry_at = turn_.now + part.refusal_wait;
  part.refusal_wait = std::min<Duration>(part.refusal_wait * 2, limits::kRetryFirst);
  part.backoff = retry_timer_.first_wait();
  wake_ = std::min(wake_, part.retry_at);
}

void RequestBook::finish_part(Parts::iterator found, Frame& frame) {
  RequestPart& part = found->second;
  const auto request = part.request;
  switch (request->kind) {
    case RequestKind::kFollow:
    case RequestKind::kPull: {
      const FrameHeader& asked = part.frame.head;
      const TableSpec& spec = map().tables[asked.table.value];
      const auto keys = part.frame.keys();
      const std::size_t rows = spec.kind == TableSpec::Kind::kDense ? keys[1] : keys.size();
      if (frame.second.size() != rows * spec.dim * sizeof(float)) {
        return finish(request,
                      {Code::kRefused, fmt::format("{}: answer of {} bytes for {} rows of {} floats",
                                                   describe(asked), frame.second.size(), rows, spec.dim)});
      }
      request->answers[part.position] = frame.second;
      request->late += (frame.head.flags & frame_flags::kLate) != 0;
      if ((asked.flags & frame_flags::kReadOnly) == 0 || request->kind == RequestKind::kFollow)
        request->version = older_version(request->version, frame.head.version);
      break;
    }
    case RequestKind::kScan: {
      if (!take_scan(part, frame)) return;
      break;
    }
    case RequestKind::kCount:
      if (frame.first.size() != sizeof(std::uint64_t)) return;
      request->count += frame.first.as<std::uint64_t>()[0];
      break;
    case RequestKind::kMarks: {
      const auto marks = wire::decode_marks(frame.first);
      if (!marks) return;
      const Step low = request->marks.low;
      request->marks.add(*marks);
      if (THALWEG_BUG(kHeirSkipsAhead) && low.epoch != ~0u) request->marks.low = std::max(low, marks->low);
      break;
    }
    case RequestKind::kPush:
      if (request->open > 1) note_kept(part);
      break;
    default:
      break;
  }
  parts_.erase(found);
  if (--request->open == 0) finish(request, ok_status());
}

// Whether this was the last block of a scan's answer.
bool RequestBook::take_scan(RequestPart& part, const Frame& frame) {
  Request& request = *part.request;
  const auto [block, blocks] = numbered<ScanBlock>(frame.head);
  const std::size_t rows = frame.first.size() / sizeof(std::uint64_t);
  const std::size_t width = rows == 0 ? 0 : frame.second.size() / sizeof(float) / rows;
  const bool whole =
      frame.first.size() % sizeof(std::uint64_t) == 0 && frame.second.size() == rows * width * sizeof(float);
  const bool filled = rows == 0 ? blocks == 1 : width >= map().tables[part.frame.head.table.value].dim;
  if (!whole || !filled || block >= blocks || blocks > limits::kScanBlocksMax) {
    const std::string what =
        fmt::format("{}: block {} of {} with {} bytes of keys and {} of rows is no answer",
                    describe(part.frame.head), block, blocks, frame.first.size(), frame.second.size());
    finish(part.request, {Code::kRefused, what});
    return false;
  }
  if (request.answers.empty()) {
    request.answers.resize(blocks);
    request.keys.resize(blocks);
    request.width = width;
    request.open = blocks;
  }
  if (request.answers.size() != blocks || request.width != width) return false;  // Of another answer.
  if (!request.keys[block].empty()) return false;
  request.answers[block] = frame.second;
  request.keys[block] = frame.first;
  if (--request.open > 0) return false;
  request.open = 1;
  return true;
}

void RequestBook::drop_parts(const Request& request) {
  std::erase_if(parts_, [&](const auto& entry) { return entry.second.request.get() == &request; });
}

void RequestBook::finish(std::shared_ptr<Request> request, Status status) {
  Answer answer;
  const bool pull = request->kind == RequestKind::kPull || request->kind == RequestKind::kFollow;
  if (status.ok() && pull) {
    answer.late = request->late == request->answers.size();
    answer.rows = gathered(request->answers);
  }
  if (status.ok() && request->kind == RequestKind::kScan) {
    for (const Bytes& block : request->keys) {
      const auto keys = block.as<std::uint64_t>();
      answer.keys.insert(answer.keys.end(), keys.begin(), keys.end());
    }
    answer.rows = gathered(request->answers);
  }
  if (request->kind == RequestKind::kCount) answer.keys = {request->count};
  answer.status = std::move(status);
  if (request->open > 0) drop_parts(*request);
  on_ended_(*request, std::move(answer));
}

void RequestBook::fail_all(const Status& why) {
  while (!parts_.empty()) finish(parts_.begin()->second.request, why);
}

void RequestBook::fail_all_of(ShardId shard, const Status& why) {
  std::vector<std::shared_ptr<Request>> requests;
  for (auto& [number, part] : parts_) {
    const bool of_shard = part.request->shard == shard && part.request->kind != RequestKind::kCombined;
    if (of_shard) requests.push_back(part.request);
  }
  for (const auto& request : requests) finish(request, why);
}

void RequestBook::forgive(Duration late) {
  std::set<const Request*> forgiven;
  for (auto& [number, part] : parts_) {
    if (forgiven.insert(part.request.get()).second) part.request->deadline = part.request->deadline + late;
  }
}

void RequestBook::drop_sums() {
  std::erase_if(parts_, [](const auto& part) {
    const RequestKind kind = part.second.request->kind;
    return kind == RequestKind::kCombined || kind == RequestKind::kFollow;
  });
}

void RequestBook::retry_due() {
  Instant wake = kNever;
  std::vector<std::shared_ptr<Request>> late;
  std::vector<Status> why;
  for (auto& [number, part] : parts_) {
    // Newer rows may be long in coming; asked under another number, a server would keep both.
    if (part.request->kind == RequestKind::kFollow)
      part.request->deadline = std::max(part.request->deadline, turn_.now + map().timeout);
    if (turn_.now >= part.request->deadline) {
      if (std::find(late.begin(), late.end(), part.request) != late.end()) continue;
      THALWEG_REACHED(kRequestTimedOut);
      late.push_back(part.request);
      why.push_back(timeout(part));
    } else if (turn_.now >= part.retry_at) {
      if (part.fresh && is_timed(part)) retry_timer_.on_silence(part.sent_at);
      THALWEG_REACHED(kSentAgain);
      part.fresh = false;
      transmit(part);
    }
    wake = std::min({wake, part.retry_at, part.request->deadline});
  }
  wake_ = wake;
  for (std::size_t i = 0; i < late.size(); ++i) finish(late[i], why[i]);
}

Status RequestBook::overdue(ShardId shard, const Completion& completion) const {
  const RequestPart* oldest = nullptr;  // The end of a step or epoch waits for the shard's pushes.
  for (const auto& [number, part] : parts_) {
    if (part.request->completion.get() == &completion) return timeout(part);
    const bool push = part.request->kind == RequestKind::kPush && part.request->shard == shard;
    if (push && oldest == nullptr) oldest = &part;
  }
  return oldest != nullptr ? timeout(*oldest) : Status(Code::kTimeout, "the answer was being handled");
}

Status RequestBook::timeout(const RequestPart& part) const {
  const FrameHeader& head = part.frame.head;
  std::string what = head.op == Op::kBarrier || head.op == Op::kReport
                         ? fmt::format("{} {}.{} of shard {}", op_name(head.op), head.step.epoch,
                                       head.step.index, head.shard.value)
                         : describe(head);
  std::string at = node_name(part.to);
  if (part.to.role == Role::kServer && !map().servers[part.to.index].empty()) {
    at += fmt::format(" ({})", map().servers[part.to.index]);
  }
  std::string who;
  for (const ShardId shard : part.request->missing) {
    who += fmt::format("{}shard {} of worker-{}", who.empty() ? "; not arrived: " : ", ", shard.value,
                       shard.value < map().shards.size() ? map().shards[shard.value].worker : ~0u);
  }
  const auto waited_s = std::chrono::duration<double>(turn_.now - part.request->started).count();
  return {Code::kTimeout,
          fmt::format("{} at {} waited {:.1f} s without progress{}", what, at, waited_s, who)};
}

}  // namespace thalweg
