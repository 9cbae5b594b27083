#include "client/blocking_calls.h"

#include <utility>

namespace thalweg {

Status BlockingStore::Calls::refused(const Worker& worker) const {
  if (worker.stopped())
    return *worker.stopped() ? Status(Code::kAborted, "the job is over") : *worker.stopped();
  const char* why = refusal_;
  return why == nullptr ? Status::ok() : Status(Code::kUsage, why);
}

Instant BlockingStore::Calls::deadline(Timeout timeout) const {
  const Instant now = cluster_.now();
  return timeout >= kNever - now ? kNever : now + timeout;
}

Answer BlockingStore::Calls::wait(ShardId shard, Instant deadline,
                                  const std::shared_ptr<Completion>& completion) {
  cluster_.wait_until(
      shard, [&](const Worker& worker) { return completion->done || worker.stopped(); }, deadline);
  Answer answer;
  cluster_.turn(shard, [&](Worker& worker, ShardStore&) {
    if (completion->done) {
      answer = completion->answer;
    } else {
      answer.status = refused(worker);
      if (answer.status) answer.status = worker.overdue(shard, *completion);
    }
  });
  return answer;
}

Answer BlockingStore::Calls::call(ShardId shard, Timeout timeout, const Begin& begin) {
  const Instant until = deadline(timeout);
  std::shared_ptr<Completion> completion;
  Answer answer;
  cluster_.turn(shard, [&](Worker& worker, ShardStore& store) {
    answer.status = refused(worker);
    if (answer.status) completion = begin(store).completion();
  });
  return completion == nullptr ? answer : wait(shard, until, completion);
}

Answer BlockingStore::Calls::end(ShardId shard, Timeout timeout, const Begin& begin) {
  const Instant until = deadline(timeout);
  for (;;) {
    bool begun = false;
    std::shared_ptr<Completion> completion;
    Answer answer;
    cluster_.turn(shard, [&](Worker& worker, ShardStore& store) {
      answer.status = refused(worker);
      if (!answer.status) return;
      auto& last = ends_[shard.value];
      begun = last == nullptr || last->done;
      if (begun) last = begin(store).completion();
      completion = last;
    });
    if (completion == nullptr) return answer;
    answer = wait(shard, until, completion);
    if (begun || !answer.status) return answer;
  }
}

Step BlockingStore::Calls::clock(ShardId shard) {
  Step step;
  cluster_.turn(shard, [&](Worker&, ShardStore& store) { step = store.step(); });
  return step;
}

Answer BlockingStore::Calls::scan(TableId table, RangeId range) {
  const ShardId any{0};
  std::shared_ptr<Completion> completion;
  Answer answer;
  cluster_.turn(any, [&](Worker& worker, ShardStore& store) {
    if (worker.stopped()) {
      answer.status = refused(worker);
    } else {
      completion = store.scan(table, range).completion();
    }
  });
  return completion == nullptr ? answer : wait(any, kNever, completion);
}

namespace {

Result<Rows> rows_of(Answer answer) {
  if (!answer.status) return std::move(answer.status);
  return std::move(answer.rows);
}

}  // namespace

Step BlockingStore::step() const { return calls_->clock(shard_); }

Status BlockingStore::push(TableId table, Keys keys, Rows grads, Timeout timeout) {
  return calls_->call(shard_, timeout, [&](ShardStore& store) { return store.push(table, keys, grads); })
      .status;
}

Result<Rows> BlockingStore::pull(TableId table, Keys keys, Timeout timeout) {
  return rows_of(calls_->call(shard_, timeout, [&](ShardStore& store) { return store.pull(table, keys); }));
}

Result<Rows> BlockingStore::read(TableId table, Keys keys, Timeout timeout) {
  return rows_of(calls_->call(shard_, timeout, [&](ShardStore& store) { return store.read(table, keys); }));
}

Status BlockingStore::advance(Timeout timeout) {
  return calls_->end(shard_, timeout, [](ShardStore& store) { return store.advance(); }).status;
}

Status BlockingStore::end_epoch(Timeout timeout) {
  return calls_->end(shard_, timeout, [](ShardStore& store) { return store.end_epoch(); }).status;
}

Status BlockingStore::end_work(Timeout timeout) {
  return calls_->end(shard_, timeout, [](ShardStore& store) { return store.end_work(); }).status;
}

Status BlockingStore::barrier(Step number, Timeout timeout) {
  return calls_->call(shard_, timeout, [&](ShardStore& store) { return store.barrier(number); }).status;
}

Result<Rows> BlockingStore::push_pull(TableId table, Keys keys, Rows grads, Timeout timeout) {
  std::shared_ptr<Completion> pulled;
  // In one turn, so that the pull does not wait for the advance to be answered.
  const Calls::Begin push_and_advance = [&](ShardStore& store) {
    Pending pushed = store.push(table, keys, grads);
    if (pushed.await_ready() && !pushed.completion()->answer.status) return pushed;
    Pending advanced = store.advance();
    pulled = store.pull(table, keys).completion();
    return advanced;
  };
  const Instant until = calls_->deadline(timeout);
  Answer ended = calls_->end(shard_, timeout, push_and_advance);
  if (!ended.status) return std::move(ended.status);
  return rows_of(calls_->wait(shard_, until, pulled));
}

}  // namespace thalweg
