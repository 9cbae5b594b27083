#include "worker/worker.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "cluster/pace.h"

namespace thalweg {

using News = cluster::Membership::News;

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

Worker::Worker(WorkerOptions options)
    : program_(std::move(options.program)), member_(Role::kWorker, std::move(options.member)) {}

Worker::~Worker() = default;

void Worker::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  Turn turn(*this, now, out);
  switch (member_.hear(now, from, frame, out)) {
    case News::kNone:
      return;
    case News::kWelcome:
      return member_.speak(now, {}, out);
    case News::kFirstMap:
    case News::kMap:
      return on_map();
    case News::kStop:
      return on_stop();
    case News::kOther:
      break;
  }
  switch (frame.head.op) {
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
    default:
      return;  // Nothing else is for a worker.
  }
}

Instant Worker::next_deadline() const {
  return ready_.empty() && yielding_.empty() ? std::min(wake_, member_.next_deadline()) : Instant{0};
}

void Worker::on_time(Instant now, Transport& out) {
  Turn turn(*this, now, out);
  for (const auto& yielding : std::exchange(yielding_, {})) complete(*yielding, Status::ok());
  // Ahead of the tasks: those that yield in turns would keep it waiting for ever.
  if (now >= std::min(wake_, member_.next_deadline())) keep_in_touch();
  if (!ready_.empty()) {
    const auto handle = ready_.front();
    ready_.pop_front();
    handle.resume();
    finish_tasks();
  }
}

void Worker::keep_in_touch() {
  if (const auto why = member_.scheduler_lost()) lose_scheduler(*why);
  if (stopped()) {
    wake_ = kNever;
    return;
  }
  forgive_own_pause();
  if (now_ >= member_.next_deadline()) member_.speak(now_, {}, *out_);
  retry_due();
}

// While this node's process was stopped, as by Ctrl-Z, it could hear no answer.
void Worker::forgive_own_pause() {
  const Duration late = now_ - member_.next_deadline();
  if (late < cluster::heartbeat_every(map())) return;
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
  if (stopped()) return;
  member_.leave({Code::kPeerLost, std::move(why)});
  abandon_requests(*member_.stopped());
}

void Worker::on_stop() {
  const Status& why = *member_.stopped();
  abandon_requests(why ? Status(Code::kAborted, "the job is over") : why);
  member_.confirm_stop(*out_);
}

void Worker::abandon_requests(const Status& why) {
  while (!parts_.empty()) finish_request(*parts_.begin()->second.request, why);
  combiner_.reset({}, 0, {});
}

void Worker::end(const Status& status) {
  if (out_ != nullptr) member_.end(status, *out_);
}

void Worker::on_map() {
  for (std::uint32_t s = 0; s < map().servers.size(); ++s) out_->introduce(server_node(s), map().servers[s]);
  restart_combiner();
  const std::vector<std::uint32_t> numbers = sent_to_servers();
  adopt_shards();
  address_anew(numbers, member_.ranges_moved());
}

void Worker::adopt_shards() {
  std::vector<ShardId> lost;
  for (const auto& [shard, run] : runs_) {
    if (shard == kNoShard) continue;
    const wire::ShardOwner& owner = map().shards[shard.value];
    if (owner.worker != self().index || owner.owner_epoch != run.store->owner_epoch()) lost.push_back(shard);
  }
  for (const ShardId shard : lost)
    drop_shard(shard, {Code::kAborted, "the shard was given to another worker"});
  if (member_.observer()) {
    if (runs_.empty()) {
      runs_[kNoShard].store = std::make_unique<ShardStore>(*this, kNoShard, 0, kFresh);
      start(kNoShard, kFresh);
    }
    return;
  }
  for (std::uint32_t s = 0; s < map().shards.size(); ++s) {
    const wire::ShardOwner& owner = map().shards[s];
    if (owner.worker != self().index || runs_.count(ShardId{s}) != 0) continue;
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
  if (program_) Worker::run(shard, program_);
}

void Worker::run(ShardId shard, const ShardProgram& program) {
  Run& run = runs_.at(shard);
  run.task.emplace(program(*run.store, map()));
  ready_.push_back(run.task->handle());
}

void Worker::drop_programs() {
  THALWEG_CHECK(stopped() && parts_.empty(), "nothing resumes a program of a stopped worker");
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
    if (!status || member_.observer()) end(status);
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
