// The part of Worker that turns requests into frames and answers back into completions.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/planted.h"
#include "cluster/pace.h"
#include "worker/worker.h"

namespace thalweg {

std::shared_ptr<Request> Worker::make_request(RequestKind kind, ShardId shard, Step step) {
  auto request = std::make_shared<Request>();
  request->kind = kind;
  request->shard = shard;
  request->step = step;
  request->started = now_;
  request->deadline = (THALWEG_BUG(kClockFromZero) ? Instant{} : now_) + map().timeout;
  return request;
}

void Worker::send_part(const std::shared_ptr<Request>& request, std::size_t position, NodeId to,
                       Frame frame) {
  const std::uint32_t number = next_request_++;
  frame.head.request = number;
  frame.head.shard = request->shard;
  ++request->open;
  auto& part = parts_[number];
  part = {request, position, to, to, std::move(frame), {}, limits::kRetryFirst, limits::kRefusalWaitFirst};
  transmit(part);
}

void Worker::transmit(RequestPart& part) {
  member_.stamp(part.frame.head);
  part.retry_at = now_ + std::min(part.backoff, cluster::retry_max(map()));
  if (THALWEG_BUG(kNoRetry)) part.retry_at = part.request->deadline;
  if (THALWEG_BUG(kAddressMatters))
    part.retry_at = part.retry_at + Duration(reinterpret_cast<std::intptr_t>(&part) & 0xfffff);
  part.backoff = std::min<Duration>(part.backoff * 2, limits::kRetryMax);
  wake_ = std::min(wake_, part.retry_at);
  part.by = combiner_for(part).value_or(part.to);
  if (part.by == self()) return combiner_.add(now_, self(), part.frame);
  out_->send(part.by, part.frame);
}

// One frame a slice, each like `head` but for what it is about.
void Worker::send_slices(const std::shared_ptr<Request>& request, std::size_t position, const Frame& head,
                         std::vector<Slice> slices) {
  for (Slice& one : slices) {
    Frame frame = head;
    frame.head.ranges = one.ranges;
    frame.first = std::move(one.payload.keys);
    frame.second = std::move(one.payload.values);
    send_part(request, position++, *owner_of(frame.head), std::move(frame));
  }
}

Pending Worker::push(const ShardStore& store, TableId table, Step step, const Keys& keys, const Rows& grads,
                     std::uint8_t flags) {
  auto request = make_request(RequestKind::kPush, store.shard(), step);
  const TableSpec& spec = map().tables[table.value];
  Frame head;
  head.head.op = Op::kPush;
  head.head.flags = flags;
  head.head.table = table;
  head.head.owner_epoch = store.owner_epoch();
  head.head.step = step;
  send_slices(request, 0, head,
              slice(spec, map().placement[table.value], {0, spec.ranges}, payload_of_push(keys, grads)));
  return Pending(request->completion);
}

Pending Worker::pull(const ShardStore& store, TableId table, Step step, const Keys& keys, bool read_only) {
  auto request = make_request(RequestKind::kPull, store.shard(), step);
  const TableSpec& spec = map().tables[table.value];
  auto slices = slice(spec, map().placement[table.value], {0, spec.ranges}, payload_of_pull(keys));
  std::erase_if(slices, [](const Slice& one) { return one.payload.empty(); });
  request->answers.resize(slices.size());
  if (slices.empty()) complete(*request->completion, Status::ok());
  Frame head;
  head.head.op = Op::kPull;
  head.head.flags = read_only ? frame_flags::kReadOnly : std::uint8_t{0};
  head.head.table = table;
  head.head.owner_epoch = store.owner_epoch();
  head.head.step = step;
  send_slices(request, 0, head, std::move(slices));
  return Pending(request->completion);
}

Pending Worker::barrier(const ShardStore& store, Step number) {
  auto request = make_request(RequestKind::kBarrier, store.shard(), number);
  Frame frame;
  frame.head.op = Op::kBarrier;
  frame.head.step = number;
  frame.head.owner_epoch = store.owner_epoch();
  send_part(request, 0, kScheduler, std::move(frame));
  return Pending(request->completion);
}

Pending Worker::report(const ShardStore& store, Step number, const std::string& text) {
  auto request = make_request(RequestKind::kReport, store.shard(), number);
  Frame frame;
  frame.head.op = Op::kReport;
  frame.head.step = number;
  frame.head.owner_epoch = store.owner_epoch();
  frame.first = Bytes::of(text);
  send_part(request, 0, kScheduler, std::move(frame));
  return Pending(request->completion);
}

Pending Worker::scan(const ShardStore& store, TableId table, RangeId range) {
  auto request = make_request(RequestKind::kScan, store.shard(), Step{});
  Frame frame;
  frame.head.op = Op::kScan;
  frame.head.table = table;
  frame.head.ranges = only(range);
  send_part(request, 0, *owner_of(frame.head), std::move(frame));
  return Pending(request->completion);
}

Pending Worker::count(const ShardStore& store, TableId table) {
  auto request = make_request(RequestKind::kCount, store.shard(), Step{});
  request->table = table;
  ask_servers(request);
  return Pending(request->completion);
}

void Worker::on_waiting(NodeId from, const Frame& frame) {
  const auto found = parts_.find(frame.head.request);
  const auto waiting = wire::decode_waiting(frame.first);
  if (found == parts_.end() || found->second.to != from || !waiting) return;
  Request& request = *found->second.request;
  request.missing = waiting->missing;
  if (waiting->progress == found->second.progress) return;
  found->second.progress = waiting->progress;
  request.deadline = now_ + map().timeout;
}

void Worker::on_answer(NodeId from, Frame& frame) {
  const auto found = parts_.find(frame.head.request);
  if (found == parts_.end() || found->second.by != from)
    return;  // An answer to a repeat that was answered before.
  RequestPart& part = found->second;
  if (static_cast<int>(frame.head.op) != static_cast<int>(part.frame.head.op) + 1) return;
  switch (frame.head.code) {
    case Code::kOk:
      return finish_part(found, frame);
    case Code::kRetry:
      return retry_refused(part);
    case Code::kStale:
      return member_.tell(Op::kGetMap, Status::ok(), {}, *out_);
    default: {
      const auto request = part.request;
      finish_request(*request,
                     {frame.head.code, fmt::format("{}: {}", node_name(from), status_of(frame).message())});
    }
  }
}

// The peer is there and was not ready, which is over sooner than a loss would be noticed.
void Worker::retry_refused(RequestPart& part) {
  part.retry_at = now_ + part.refusal_wait;
  part.refusal_wait = std::min<Duration>(part.refusal_wait * 2, limits::kRetryFirst);
  part.backoff = limits::kRetryFirst;
  wake_ = std::min(wake_, part.retry_at);
}

void Worker::finish_part(std::map<std::uint32_t, RequestPart>::iterator found, Frame& frame) {
  RequestPart& part = found->second;
  const auto request = part.request;
  switch (request->kind) {
    case RequestKind::kPull: {
      const FrameHeader& asked = part.frame.head;
      const TableSpec& spec = map().tables[asked.table.value];
      const auto keys = part.frame.keys();
      const std::size_t rows = spec.kind == TableSpec::Kind::kDense ? keys[1] : keys.size();
      if (frame.second.size() != rows * spec.dim * sizeof(float)) {
        return finish_request(
            *request, {Code::kRefused, fmt::format("{}: answer of {} bytes for {} rows of {} floats",
                                                   describe(asked), frame.second.size(), rows, spec.dim)});
      }
      request->answers[part.position] = frame.second;
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
    default:
      break;
  }
  parts_.erase(found);
  if (--request->open == 0) finish_request(*request, Status::ok());
}

// Whether this was the last block of a scan's answer.
bool Worker::take_scan(RequestPart& part, const Frame& frame) {
  Request& request = *part.request;
  const std::uint32_t block = frame.head.step.epoch, blocks = frame.head.step.index;
  const std::size_t rows = frame.first.size() / sizeof(std::uint64_t);
  const std::size_t width = rows == 0 ? 0 : frame.second.size() / sizeof(float) / rows;
  const bool whole =
      frame.first.size() % sizeof(std::uint64_t) == 0 && frame.second.size() == rows * width * sizeof(float);
  const bool filled = rows == 0 ? blocks == 1 : width >= map().tables[part.frame.head.table.value].dim;
  if (!whole || !filled || block >= blocks || blocks > limits::kScanBlocksMax) {
    const std::string what =
        fmt::format("{}: block {} of {} with {} bytes of keys and {} of rows is no answer",
                    describe(part.frame.head), block, blocks, frame.first.size(), frame.second.size());
    finish_request(request, {Code::kRefused, what});
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

void Worker::drop_parts(const Request& request) {
  std::erase_if(parts_, [&](const auto& entry) { return entry.second.request.get() == &request; });
}

void Worker::finish_request(Request& request, Status status) {
  const auto keep = request.completion;  // The request dies with its last part.
  const RequestKind kind = request.kind;
  const ShardId shard = request.shard;
  const Step step = request.step;
  const wire::Marks marks = request.marks;
  const std::vector<Asker> askers = std::move(request.askers);
  if (status && kind == RequestKind::kPull) gather_pull(request);
  if (status && kind == RequestKind::kScan) gather_scan(request);
  if (kind == RequestKind::kCount) request.completion->answer.keys = {request.count};
  if (request.open > 0) drop_parts(request);
  if (kind == RequestKind::kMarks) {
    if (status) return start(shard, marks);
    return status.code() == Code::kAborted ? void() : end(status);
  }
  if (kind == RequestKind::kCombined) {
    if (stopped() || status.code() == Code::kTimeout) return;  // No word of the server's.
    for (const Asker& asker : askers) answer_asker(asker, status);
    return;
  }
  complete(*keep, status);
  if (kind != RequestKind::kPush) return;
  const auto run = runs_.find(shard);
  if (run == runs_.end()) return;
  const bool fails_shard = !status && !run->second.store->failed();
  run->second.store->push_done(step, status);
  if (fails_shard) finish_all(shard, status);
  if (!status && run->second.ended) end(status);  // Its task can no longer tell.
}

void Worker::finish_all(ShardId shard, const Status& why) {
  std::vector<std::shared_ptr<Request>> requests;
  for (auto& [number, part] : parts_) {
    const bool of_shard = part.request->shard == shard && part.request->kind != RequestKind::kCombined;
    if (of_shard) requests.push_back(part.request);
  }
  for (const auto& request : requests) finish_request(*request, why);
}

void Worker::gather_pull(Request& request) {
  auto& answers = request.answers;
  if (answers.size() == 1) {
    request.completion->answer.rows = Rows(answers[0].owner(), answers[0].as<float>());
    return;
  }
  std::size_t total = 0;
  for (const Bytes& part : answers) total += part.size() / sizeof(float);
  std::vector<float> rows;
  rows.reserve(total);
  for (const Bytes& part : answers) {
    const auto floats = part.as<float>();
    rows.insert(rows.end(), floats.begin(), floats.end());
  }
  request.completion->answer.rows = Rows(std::move(rows));
}

void Worker::gather_scan(Request& request) {
  for (const Bytes& block : request.keys) {
    const auto keys = block.as<std::uint64_t>();
    request.completion->answer.keys.insert(request.completion->answer.keys.end(), keys.begin(), keys.end());
  }
  request.keys.clear();
  gather_pull(request);
}

void Worker::retry_due() {
  Instant wake = kNever;
  std::vector<std::shared_ptr<Request>> late;
  std::vector<Status> why;
  for (auto& [number, part] : parts_) {
    if (now_ >= part.request->deadline) {
      if (std::find(late.begin(), late.end(), part.request) != late.end()) continue;
      late.push_back(part.request);
      why.push_back(timeout(part));
    } else if (now_ >= part.retry_at) {
      transmit(part);
    }
    wake = std::min({wake, part.retry_at, part.request->deadline});
  }
  wake_ = wake;
  for (std::size_t i = 0; i < late.size(); ++i) finish_request(*late[i], why[i]);
}

Status Worker::overdue(ShardId shard, const Completion& completion) const {
  const RequestPart* oldest = nullptr;  // The end of a step or epoch waits for the shard's pushes.
  for (const auto& [number, part] : parts_) {
    if (part.request->completion.get() == &completion) return timeout(part);
    const bool push = part.request->kind == RequestKind::kPush && part.request->shard == shard;
    if (push && oldest == nullptr) oldest = &part;
  }
  return oldest != nullptr ? timeout(*oldest) : Status(Code::kTimeout, "the answer was being handled");
}

Status Worker::timeout(const RequestPart& part) const {
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
  const auto waited_s = std::chrono::duration<double>(now_ - part.request->started).count();
  return {Code::kTimeout,
          fmt::format("{} at {} waited {:.1f} s without progress{}", what, at, waited_s, who)};
}

}  // namespace thalweg
