#include "worker/worker.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/planted.h"

namespace thalweg {
namespace {

constexpr wire::Marks kFresh{Step{}, Step{}, false};  // Of a shard that nobody has worked on.

}  // namespace

struct Worker::Turn {
  Turn(Worker& worker, Instant now, Transport& out) : worker_(worker), outer_(worker.out_) {
    worker_.now_ = now;
    worker_.out_ = &out;
  }
  ~Turn() {
    if (outer_ == nullptr) worker_.send_combined();
    worker_.out_ = outer_;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Worker& worker_;
  Transport* outer_;
};

Worker::~Worker() = default;

void Worker::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  const bool orders =
      frame.head.op == Op::kWelcome || frame.head.op == Op::kMap || frame.head.op == Op::kStop;
  if (orders && from != kScheduler) return;
  if (from == kScheduler) scheduler_.heard();
  Turn turn(*this, now, out);
  switch (frame.head.op) {
    case Op::kWelcome:
      return on_welcome(frame);
    case Op::kMap:
      return on_map(frame);
    case Op::kWaiting:
      return on_waiting(from, frame);
    case Op::kPush:
      return on_push(from, std::move(frame));
    case Op::kPushReply:
    case Op::kPullReply:
    case Op::kBarrierReply:
    case Op::kReportReply:
    case Op::kScanReply:
    case Op::kMarksReply:
      return on_answer(from, frame);
    case Op::kStop:
      told_to_stop_ = true;
      if (!stopped_) {
        stopped_ = status_of(frame);
        const Status why = *stopped_ ? Status(Code::kAborted, "the job is over") : *stopped_;
        while (!parts_.empty()) finish_request(*parts_.begin()->second.request, why);
        combiner_.reset({}, 0, {});
      }
      return send_control(Op::kStop, Status::ok(), {});
    default:
      return;  // Nothing else is for a worker.
  }
}

void Worker::on_time(Instant now, Transport& out) {
  Turn turn(*this, now, out);
  for (const auto& yielding : std::exchange(yielding_, {})) complete(*yielding, Status::ok());
  // Ahead of the tasks: those that yield in turns would keep it waiting for ever.
  if (now >= wake_) keep_in_touch();
  if (!ready_.empty()) {
    const auto handle = ready_.front();
    ready_.pop_front();
    handle.resume();
    finish_tasks();
  }
}

void Worker::keep_in_touch() {
  if (const auto why = scheduler_.lost(map_)) lose_scheduler(*why);
  if (stopped_) {
    wake_ = kNever;
    return;
  }
  if (!id_) {
    send_control(Op::kJoin, Status::ok(),
                 encode(wire::Join{Role::kWorker, options_.observer, options_.address, options_.name,
                                   options_.machine}));
    wake_ = now_ + limits::kRetryFirst;
    return;
  }
  forgive_own_pause();
  if (now_ >= heartbeat_at_) {
    scheduler_.sent_heartbeat();
    heartbeat();
  }
  retry_due();
}

// While this node's process was stopped, as by Ctrl-Z, it could hear no answer.
void Worker::forgive_own_pause() {
  const Duration late = now_ - heartbeat_at_;
  if (late < cluster::heartbeat_every(map_)) return;
  std::set<const Request*> forgiven;
  for (auto& [number, part] : parts_) {
    if (forgiven.insert(part.request.get()).second) part.request->deadline = part.request->deadline + late;
  }
}

void Worker::turn(Instant now, Transport& out, const std::function<void()>& work) {
  Turn turn(*this, now, out);
  work();
}

void Worker::on_peer_lost(Instant now, NodeId peer, Transport& out) {
  Turn turn(*this, now, out);
  if (peer == kScheduler) lose_scheduler("scheduler is gone");
}

void Worker::lose_scheduler(std::string why) {
  if (stopped_) return;
  stopped_ = Status(Code::kPeerLost, std::move(why));
  while (!parts_.empty()) finish_request(*parts_.begin()->second.request, *stopped_);
  combiner_.reset({}, 0, {});
}

void Worker::send_control(Op op, const Status& status, Bytes first) {
  Frame frame;
  frame.head.op = op;
  frame.head.cluster = cluster_;
  frame.head.map_epoch = map_.epoch;
  frame.head.code = status.code();
  frame.first = status ? std::move(first)
                       : Bytes::of(std::string_view(status.message()).substr(0, limits::kTextOfStatusMax));
  out_->send(kScheduler, std::move(frame));
}

void Worker::heartbeat() {
  heartbeat_at_ = now_ + cluster::heartbeat_every(map_);
  send_control(Op::kHeartbeat, Status::ok(), encode(wire::Heartbeat{}));
  if (ended_ && !THALWEG_BUG(kEndSaidOnce)) send_control(Op::kEnded, *ended_, {});
}

void Worker::end(const Status& status) {
  if (stopped_ || ended_ || out_ == nullptr) return;
  ended_ = status;
  send_control(Op::kEnded, status, {});
}

void Worker::on_welcome(const Frame& frame) {
  const auto welcome = wire::decode_welcome(frame.first);
  if (!welcome || id_ || welcome->id.role != Role::kWorker) return;
  id_ = welcome->id;
  cluster_ = welcome->cluster;
  out_->rename_self(*id_, cluster_);
  heartbeat();
  wake_ = std::min(wake_, heartbeat_at_);
}

void Worker::on_map(const Frame& frame) {
  auto map = wire::decode_map(frame.first);
  if (!map || !id_ || map->epoch <= map_.epoch || (map_.epoch != 0 && !same_job(*map, map_))) return;
  const bool moved = map->placement != map_.placement || map->servers.size() != map_.servers.size();
  map_ = std::move(*map);
  for (std::uint32_t s = 0; s < map_.servers.size(); ++s) out_->introduce(server_node(s), map_.servers[s]);
  heartbeat_at_ = std::min(heartbeat_at_, now_ + cluster::heartbeat_every(map_));
  wake_ = std::min(wake_, heartbeat_at_);
  restart_combiner();
  const std::vector<std::uint32_t> numbers = sent_to_servers();
  adopt_shards();
  address_anew(numbers, moved);
}

void Worker::adopt_shards() {
  std::vector<ShardId> lost;
  for (const auto& [shard, run] : runs_) {
    if (shard == kNoShard) continue;
    const wire::ShardOwner& owner = map_.shards[shard.value];
    if (owner.worker != id_->index || owner.owner_epoch != run.store->owner_epoch()) lost.push_back(shard);
  }
  for (const ShardId shard : lost)
    drop_shard(shard, {Code::kAborted, "the shard was given to another worker"});
  if (options_.observer) {
    if (runs_.empty()) {
      runs_[kNoShard].store = std::make_unique<ShardStore>(*this, kNoShard, 0, kFresh);
      start(kNoShard, kFresh);
    }
    return;
  }
  for (std::uint32_t s = 0; s < map_.shards.size(); ++s) {
    const wire::ShardOwner& owner = map_.shards[s];
    if (owner.worker != id_->index || runs_.count(ShardId{s}) != 0) continue;
    runs_[ShardId{s}].store = std::make_unique<ShardStore>(*this, ShardId{s}, owner.owner_epoch, kFresh);
    if (owner.owner_epoch == 0) {
      start(ShardId{s}, kFresh);
    } else {
      ask_servers(make_request(RequestKind::kMarks, ShardId{s}, Step{}));
    }
  }
}

void Worker::drop_shard(ShardId shard, const Status& why) {
  Run& run = runs_.at(shard);
  finish_all(shard, why);
  run.store->abort(why);
  if (run.task && !run.task->done()) retired_.push_back(std::move(run));
  runs_.erase(shard);
}

void Worker::start(ShardId shard, const wire::Marks& marks) {
  Run& run = runs_.at(shard);
  if (marks.reach != Step{}) {
    run.store = std::make_unique<ShardStore>(*this, shard, run.store->owner_epoch(), marks);
  }
  run.started = true;
  if (options_.program) Worker::run(shard, options_.program);
}

void Worker::run(ShardId shard, const ShardProgram& program) {
  Run& run = runs_.at(shard);
  run.task.emplace(program(*run.store, map_));
  ready_.push_back(run.task->handle());
}

void Worker::drop_programs() {
  THALWEG_CHECK(stopped_.has_value() && parts_.empty(), "nothing resumes a program of a stopped worker");
  ready_.clear();
  yielding_.clear();
  retired_.clear();
  for (auto& [shard, run] : runs_) run.task.reset();
}

ShardStore* Worker::store(ShardId shard) {
  const auto found = runs_.find(shard);
  return found == runs_.end() || !found->second.started ? nullptr : found->second.store.get();
}

void Worker::finish_tasks() {
  std::erase_if(retired_, [](const Run& run) { return run.task->done(); });
  for (auto& [shard, run] : runs_) {
    if (!run.task || run.ended || !run.task->done()) continue;
    run.ended = true;
    const Status status = run.task->take();
    if (!status || options_.observer) end(status);
  }
}

Pending Worker::yield() {
  yielding_.push_back(std::make_shared<Completion>());
  return Pending(yielding_.back());
}

void Worker::complete(Completion& completion, Status status) {
  if (completion.done) return;
  completion.done = true;
  completion.answer.status = std::move(status);
  if (completion.waiter) ready_.push_back(std::exchange(completion.waiter, {}));
}

}  // namespace thalweg
