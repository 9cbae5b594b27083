#include "client/job/blocking_calls.h"
#include "base/completion.h"

#include <algorithm>
#include <utility>

namespace thalweg {
namespace {

constexpr Duration kInterruptLook = std::chrono::milliseconds(100);

}  // namespace

Status BlockingStore::Calls::over(const Worker& worker) const {
  if (!worker.membership().stopped()) return ok_status();
  return worker.membership().stopped()->ok() ? Status(Code::kAborted, "the job is over")
                                             : *worker.membership().stopped();
}

Status BlockingStore::Calls::refused(const Worker& worker) const {
  if (Status status = over(worker); !status.ok()) return status;
  const char* why = refusal_;
  return why == nullptr ? ok_status() : Status(Code::kUsage, why);
}

Instant BlockingStore::Calls::deadline(Timeout timeout) const {
  const Instant now = cluster_.now();
  return timeout >= kNever - now ? kNever : now + timeout;
}

Status BlockingStore::Calls::turn(ShardId shard, const Act& act) {
  if (birth_.elsewhere()) return made_elsewhere("job");
  if (cluster_.in_program()) {
    return {Code::kUsage,
            "a program of the job calls it and would wait for itself; expected the calls of the "
            "program's own Store"};
  }
  Status status = cluster_.wait_started();
  if (!status.ok()) return status;
  cluster_.turn(shard, [&](Worker& worker, ShardStore& store) { status = act(worker, store); });
  return status;
}

bool BlockingStore::Calls::wait_until(ShardId shard, const std::function<bool(const Worker&)>& done,
                                      Instant deadline) {
  if (!interrupted_) {
    cluster_.wait_until(shard, done, deadline);
    return false;
  }
  for (;;) {
    const Instant look = std::min(deadline, cluster_.now() + kInterruptLook);
    if (cluster_.wait_until(shard, done, look) || look == deadline) return false;
    if (interrupted_()) return true;
  }
}

Answer BlockingStore::Calls::wait(ShardId shard, Instant deadline,
                                  const std::shared_ptr<Completion>& completion) {
  const auto done = [&](const Worker& worker) { return completion->done || worker.membership().stopped(); };
  if (wait_until(shard, done, deadline)) return {{Code::kAborted, "the call was interrupted"}, {}, {}, false};
  Answer answer;
  cluster_.turn(shard, [&](Worker& worker, ShardStore&) {
    if (completion->done) {
      answer = completion->answer;
    } else {
      answer.status = over(worker);
      if (answer.status.ok()) answer.status = worker.overdue(shard, *completion);
    }
  });
  return answer;
}

Answer BlockingStore::Calls::call(ShardId shard, Timeout timeout, const Begin& begin) {
  return call(shard, timeout, begin, true);
}

Answer BlockingStore::Calls::look(ShardId shard, Timeout timeout, const Begin& begin) {
  return call(shard, timeout, begin, cluster_.has_shards());
}

Answer BlockingStore::Calls::call(ShardId shard, Timeout timeout, const Begin& begin, bool may_refuse) {
  const Instant until = deadline(timeout);
  std::shared_ptr<Completion> completion;
  Answer answer;
  answer.status = turn(shard, [&](Worker& worker, ShardStore& store) {
    Status status = may_refuse ? refused(worker) : over(worker);
    if (status.ok()) completion = Completion::of(begin(store));
    return status;
  });
  return completion == nullptr ? answer : wait(shard, until, completion);
}

Answer BlockingStore::Calls::end(ShardId shard, Timeout timeout, const Begin& begin) {
  const Instant until = deadline(timeout);
  for (;;) {
    bool begun = false;
    std::shared_ptr<Completion> completion;
    Answer answer;
    answer.status = turn(shard, [&](Worker& worker, ShardStore& store) {
      Status status = refused(worker);
      if (!status.ok()) return status;
      auto& last = ends_[shard.value];
      begun = last == nullptr || last->done;
      if (begun) last = Completion::of(begin(store));
      completion = last;
      return status;
    });
    if (completion == nullptr) return answer;
    answer = wait(shard, until, completion);
    if (begun || !answer.status.ok()) return answer;
  }
}

Step BlockingStore::Calls::clock(ShardId shard) {
  Step step;
  const Status status = turn(shard, [&](Worker&, ShardStore& store) {
    step = store.step();
    return ok_status();
  });
  return status.ok() ? step : Step{};
}

Answer BlockingStore::Calls::scan(TableId table, RangeId range) {
  const Begin begin = [&](ShardStore& store) { return store.scan(table, range); };
  return call(ShardId{0}, BlockingStore::kJobTimeout, begin, false);
}

namespace {

Result<Rows> rows_of(Answer answer) {
  if (!answer.status.ok()) return std::move(answer.status);
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
  return rows_of(calls_->look(shard_, timeout, [&](ShardStore& store) { return store.read(table, keys); }));
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

Status BlockingStore::barrier(BarrierId id, Timeout timeout) {
  return calls_->call(shard_, timeout, [&](ShardStore& store) { return store.barrier(id); }).status;
}

Result<Rows> BlockingStore::push_pull(TableId table, Keys keys, Rows grads, Timeout timeout) {
  std::shared_ptr<Completion> pulled;
  // In one turn, so that the pull does not wait for the advance to be answered.
  const Calls::Begin push_and_advance = [&](ShardStore& store) {
    Pending pushed = store.push(table, keys, grads);
    if (pushed.done() && !Completion::of(pushed)->answer.status.ok()) return pushed;
    Pending advanced = store.advance();
    pulled = Completion::of(store.pull(table, keys));
    return advanced;
  };
  const Instant until = calls_->deadline(timeout);
  Answer ended = calls_->end(shard_, timeout, push_and_advance);
  if (!ended.status.ok()) return std::move(ended.status);
  return rows_of(calls_->wait(shard_, until, pulled));
}

}  // namespace thalweg
