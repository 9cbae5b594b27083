#include "worker/worker.h"

#include <algorithm>

#include "base/coverage/reached.h"
#include "cluster/pace.h"

namespace thalweg {

using News = cluster::Membership::News;

struct Worker::Turn {
  Turn(Worker& worker, Instant now, Transport& out) : worker_(worker), outer_(worker.turn_.out) {
    worker_.turn_ = {now, &out};
  }
  ~Turn() {
    if (outer_ == nullptr) worker_.send_combined();
    worker_.turn_.out = outer_;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Worker& worker_;
  Transport* outer_;
};

Worker::Worker(WorkerOptions options)
    : member_(Role::kWorker, std::move(options.member)),
      relay_(member_),
      rows_(member_),
      book_(
          turn_, member_, relay_,
          [this](const Request& request, Answer answer) { on_ended(request, std::move(answer)); },
          [this](const Request& push) { on_kept(push); }),
      runner_(turn_, std::move(options.program)) {}

Worker::~Worker() = default;

void Worker::on_frame(Instant now, NodeId from, Frame frame, Transport& out) {
  Turn turn(*this, now, out);
  switch (member_.hear(now, from, frame, out)) {
    case News::kNone:
      return;
    case News::kWelcome:
      return member_.speak(now, counters(), out);
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
      return book_.on_waiting(from, frame);
    case Op::kPush:
      return on_push(from, std::move(frame));
    case Op::kPull:
      return on_ask(from, frame);
    case Op::kPushReply:
    case Op::kPullReply:
    case Op::kBarrierReply:
    case Op::kReportReply:
    case Op::kScanReply:
    case Op::kMarksReply:
    case Op::kLoadReply:
      return book_.on_answer(from, frame);
    default:
      return;  // Nothing else is for a worker.
  }
}

// When keep_in_touch() is.
Instant Worker::due() const {
  return std::min({book_.next_deadline(), relay_.next_deadline(), member_.next_deadline()});
}

Instant Worker::next_deadline() const { return runner_.ready() ? Instant{0} : due(); }

void Worker::on_time(Instant now, Transport& out) {
  Turn turn(*this, now, out);
  runner_.wake_yielding();
  // Ahead of the programs: those that yield in turns would keep it waiting for ever.
  if (now >= due()) keep_in_touch();
  if (!stopped()) runner_.choose();
}

void Worker::on_computed(Instant now, Transport& out) {
  Turn turn(*this, now, out);
  ShardStore& store = runner_.computed();
  if (stopped()) return runner_.clear();  // What it asks for and how it ended concern nobody any more.
  send_calls(store);
  end_programs();
}

void Worker::keep_in_touch() {
  if (const auto why = member_.scheduler_lost()) lose_scheduler(*why);
  if (stopped()) return book_.rest();
  forgive_own_pause();
  if (turn_.now >= member_.next_deadline()) member_.speak(turn_.now, counters(), *turn_.out);
  book_.retry_due();
}

// While this node's process was stopped, as by Ctrl-Z, it could hear no answer.
void Worker::forgive_own_pause() {
  const Duration late = turn_.now - member_.next_deadline();
  if (late >= cluster::heartbeat_every(map())) book_.forgive(late);
}

void Worker::turn(Instant now, Transport& out, const std::function<void()>& work) {
  Turn turn(*this, now, out);
  work();
  for (const ShardId shard : runner_.shards()) {
    if (ShardStore* store = runner_.store(shard)) send_calls(*store);
  }
}

void Worker::on_peer_lost(Instant now, NodeId peer, Transport& out) {
  Turn turn(*this, now, out);
  if (peer != kScheduler) return;
  if (!member_.awaits_scheduler()) return lose_scheduler("scheduler is gone");
  member_.call_scheduler(out);
}

void Worker::lose_scheduler(std::string why) {
  if (stopped()) return;
  THALWEG_REACHED(kSchedulerGivenUp);
  member_.leave({Code::kPeerLost, std::move(why)});
  give_up(*member_.stopped());
}

void Worker::on_stop() {
  const Status& why = *member_.stopped();
  give_up(why.ok() ? Status(Code::kAborted, "the job is over") : why);
  if (member_.id())
    member_.speak(turn_.now, counters(), *turn_.out);  // The last numbers, for the job's summary.
  member_.confirm_stop(*turn_.out);
}

Counters Worker::counters() const {
  Counters sum;
  const std::uint64_t own_ways = runner_.times().exchanged_bytes;
  sum.count(CounterId::kSentBytes, book_.sent_bytes() + answered_bytes_ + own_ways);
  sum.count(CounterId::kShardTimeNs, static_cast<std::uint64_t>(runner_.times().total.count()));
  sum.count(CounterId::kShardWaitNs, static_cast<std::uint64_t>(runner_.times().waited.count()));
  return sum;
}

// Nothing resumes the programs of a stopped worker: they end here, and let go of what others wait for.
void Worker::give_up(const Status& why) {
  book_.fail_all(why);
  relay_.stop();
  refuse(rows_.stop(), why);
  if (!runner_.computing()) runner_.clear();
}

void Worker::on_map() {
  for (std::uint32_t s = 0; s < map().servers.size(); ++s)
    turn_.out->introduce(server_node(s), map().servers[s]);
  book_.drop_sums();
  relay_.restart(*turn_.out);
  std::vector<Frame> asks = rows_.restart();
  const std::vector<std::uint32_t> numbers = book_.sent_to_servers();
  runner_.take_map(map());
  adopt_shards();
  book_.address_anew(numbers, member_.ranges_moved());
  for (Frame& ask : asks) book_.follow(std::move(ask));
}

void Worker::adopt_shards() {
  const std::uint32_t self = member_.id()->index;
  for (const ShardId shard : runner_.shards()) {
    if (shard == kNoShard) continue;
    const wire::ShardOwner& owner = map().shards[shard.value];
    if (owner.worker != self || owner.owner_epoch != runner_.owner_epoch(shard))
      drop_shard(shard, {Code::kAborted, "the shard was given to another worker"});
  }
  if (member_.observer()) {
    if (runner_.owner_epoch(kNoShard)) return;
    runner_.add(kNoShard, 0);
    runner_.start(kNoShard, {});
    return;
  }
  for (std::uint32_t s = 0; s < map().shards.size(); ++s) {
    const wire::ShardOwner& owner = map().shards[s];
    if (owner.worker != self || runner_.owner_epoch(ShardId{s})) continue;
    runner_.add(ShardId{s}, owner.owner_epoch);
    if (owner.owner_epoch == 0) {
      runner_.start(ShardId{s}, {});
    } else {
      book_.ask_marks(ShardId{s});
    }
  }
}

void Worker::drop_shard(ShardId shard, const Status& why) {
  THALWEG_REACHED(kShardTakenAway);
  book_.fail_all_of(shard, why);
  refuse(rows_.take_of(shard), why);
  runner_.drop(shard, why);
}

// What a program asks for after its shard has failed, or was given away, fails as well.
void Worker::send_calls(ShardStore& store) {
  for (StoreCall& call : store.take_calls()) {
    if (call.kind == StoreCall::Kind::kYield) {
      runner_.yield(store, std::move(call.completion));
    } else if (store.failed()) {
      runner_.tell(store, [&](ShardStore& its) { its.answer(*call.completion, {its.failure(), {}, {}}); });
    } else if (call.kind == StoreCall::Kind::kPull && call.flags == 0 && rows_.follows(call.table)) {
      pull_here(store, std::move(call));
    } else {
      book_.begin(std::move(call), store.shard(), store.owner_epoch());
    }
  }
  runner_.tell(store, [](ShardStore& its) { its.calls_sent(); });
}

void Worker::end_programs() {
  for (const Status& status : runner_.take_ended()) {
    if (!status.ok() || member_.observer()) end(status);
  }
}

void Worker::on_ended(const Request& request, Answer answer) {
  const Status status = answer.status;
  const ShardId shard = request.shard;
  switch (request.kind) {
    case RequestKind::kMarks:
      if (!status.ok()) return status.code() == Code::kAborted ? void() : end(status);
      THALWEG_REACHED(kHeirBegins);
      return runner_.start(shard, request.marks);
    case RequestKind::kFollow:
      return take_rows(request, answer);
    case RequestKind::kCombined:
      relay_.on_answered(request.askers.front().head);
      if (stopped() || status.code() == Code::kTimeout) return;  // No word of the server's.
      for (const Asker& asker : request.askers) answer_asker(asker, status);
      return;
    default:
      break;
  }
  runner_.tell(shard, [this, kind = request.kind, step = request.step, table = request.table,
                       version = request.version, completion = request.completion,
                       answer = std::move(answer)](ShardStore& store) {
    if (kind == RequestKind::kPull && version > 0) store.note_read(table, version);
    take_answer(store, kind, step, *completion, answer);
  });
}

// Its program goes on: what it waits for may be what others wait for. Its step stays unanswered.
void Worker::on_kept(const Request& push) {
  if (push.kind == RequestKind::kPush) {
    return runner_.tell(push.shard, [completion = push.completion](ShardStore& store) {
      if (completion != nullptr) store.answer(*completion, {ok_status(), {}, {}});
    });
  }
  for (const Asker& asker : push.askers) {
    Frame word;
    word.head = asker.head;
    word.head.op = Op::kWaiting;
    word.head.flags = frame_flags::kKept;
    word.first = encode(wire::Waiting{});
    member_.stamp(word.head);
    if (asker.from == member_.id()) {
      book_.on_waiting(asker.from, word);
    } else {
      turn_.out->send(asker.from, std::move(word));
    }
  }
}

void Worker::take_rows(const Request& request, const Answer& answer) {
  if (stopped()) return;
  if (!answer.status.ok()) return end(answer.status);
  FrameHeader piece;
  piece.table = request.table;
  piece.ranges = request.ranges;
  piece.version = request.version;
  PullRelay::News news = rows_.on_rows(piece, answer.rows);
  if (news.ask) book_.follow(std::move(*news.ask));
  for (auto& [to, frame] : news.answers) send_rows(to, std::move(frame));
  for (const PullRelay::OwnPull& pull : rows_.take_ready()) {
    runner_.tell(pull.shard, [pull, shown = *rows_.show(pull.table, pull.keys)](ShardStore& store) {
      show(store, pull, shown);
    });
  }
}

void Worker::send_rows(NodeId to, Frame frame) {
  member_.stamp(frame.head);
  answered_bytes_ += frame.size_bytes();
  turn_.out->send(to, std::move(frame));
}

// Of another worker, for rows that come down through this one.
void Worker::on_ask(NodeId from, const Frame& frame) {
  if (stopped()) return;
  if (Status status = rows_.check(from, frame.head); !status.ok()) {
    Frame refusal;
    refusal.head = frame.head;
    refusal.head.op = Op::kPullReply;
    refusal.head.flags = 0;
    put_status(refusal, status);
    return send_rows(from, std::move(refusal));
  }
  if (auto rows = rows_.on_ask(from, frame.head)) send_rows(from, std::move(*rows));
}

void Worker::pull_here(ShardStore& store, StoreCall call) {
  PullRelay::OwnPull pull{store.shard(), call.table, std::move(call.keys), std::move(call.completion)};
  const auto shown = rows_.show(pull.table, pull.keys);
  if (!shown) return rows_.hold(std::move(pull));
  runner_.tell(store, [&](ShardStore& its) { show(its, pull, *shown); });
}

void Worker::show(ShardStore& store, const PullRelay::OwnPull& pull, const PullRelay::Shown& shown) {
  store.note_read(pull.table, shown.version);
  store.answer(*pull.completion, {ok_status(), shown.rows, {}});
}

void Worker::refuse(std::vector<PullRelay::OwnPull> pulls, const Status& why) {
  for (const PullRelay::OwnPull& pull : pulls) {
    runner_.tell(pull.shard, [pull, why](ShardStore& store) {
      store.answer(*pull.completion, {why, {}, {}});
    });
  }
}

void Worker::take_answer(ShardStore& store, RequestKind kind, Step step, Completion& completion,
                         const Answer& answer) {
  store.answer(completion, answer);
  if (kind != RequestKind::kPush) return;
  const Status& status = answer.status;
  const bool fails = !status.ok() && !store.failed();
  store.push_done(step, status);
  if (status.ok() || !runner_.keeps(store)) return;
  if (fails) book_.fail_all_of(store.shard(), status);
  if (runner_.ended(store.shard())) end(status);  // Its program can no longer tell.
}

void Worker::on_push(NodeId from, Frame frame) {
  if (stopped()) return;
  if (Status status = relay_.check(from, frame); !status.ok())
    return answer_asker({from, frame.head}, status);
  relay_.add(turn_.now, from, std::move(frame));
}

void Worker::send_combined() {
  if (stopped()) return;
  for (Combiner::Batch& batch : relay_.take(turn_.now)) book_.pass_on(std::move(batch));
}

void Worker::answer_asker(const Asker& asker, const Status& status) {
  Frame frame;
  frame.head = asker.head;
  frame.head.op = Op::kPushReply;
  frame.head.flags = 0;
  member_.stamp(frame.head);
  put_status(frame, status);
  if (asker.from == member_.id()) return book_.on_answer(asker.from, frame);
  answered_bytes_ += frame.size_bytes();
  turn_.out->send(asker.from, std::move(frame));
}

}  // namespace thalweg
