#include "worker/shard_runner.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace thalweg {
namespace {

// Of a shard that nobody has worked on.
Reached fresh_marks(const wire::Map& job) { return {job.first, job.first, false}; }

}  // namespace

void ShardRunner::take_map(const wire::Map& map) {
  if (job_.epoch == 0) job_ = map;
  job_.data = map.data;
  closes_ = map.closing;
}

void ShardRunner::add(ShardId shard, std::uint32_t owner_epoch) {
  runs_[shard].store = std::make_unique<ShardStore>(job_, shard, owner_epoch, fresh_marks(job_));
}

void ShardRunner::start(ShardId shard, const Reached& marks) {
  Run& run = runs_.at(shard);
  if (marks.reach > job_.first) {
    run.store = std::make_unique<ShardStore>(job_, shard, run.store->owner_epoch(), marks);
  }
  run.started = true;
  if (program_) ShardRunner::run(shard, program_);
}

void ShardRunner::run(ShardId shard, const ShardProgram& program) {
  Run& run = runs_.at(shard);
  run.store->set_job_closes(closes_);
  run.store->doing() = {turn_.now, false};
  run.task.emplace(program(*run.store, job_));
  auto begin = std::make_shared<Completion>();
  begin->waiter = run.task->handle();
  ready_.emplace_back(run.store.get(), std::move(begin));
}

void ShardRunner::drop(ShardId shard, const Status& why) {
  Run& run = runs_.at(shard);
  const bool computes = run.store.get() == work_.store;
  tell(*run.store, [why](ShardStore& store) { store.abort(why); });
  if (computes || (run.task && !run.task->done())) retired_.push_back(std::move(run));
  runs_.erase(shard);
}

std::optional<std::uint32_t> ShardRunner::owner_epoch(ShardId shard) const {
  const auto run = runs_.find(shard);
  return run == runs_.end() ? std::nullopt : std::optional(run->second.store->owner_epoch());
}

std::vector<ShardId> ShardRunner::shards() const {
  std::vector<ShardId> shards;
  for (const auto& [shard, run] : runs_) shards.push_back(shard);
  return shards;
}

bool ShardRunner::started(ShardId shard) const {
  const auto run = runs_.find(shard);
  return run != runs_.end() && run->second.started;
}

ShardStore* ShardRunner::store(ShardId shard) {
  if (!started(shard)) return nullptr;
  ShardStore* store = runs_.at(shard).store.get();
  return store == work_.store ? nullptr : store;
}

bool ShardRunner::keeps(const ShardStore& store) const {
  const auto run = runs_.find(store.shard());
  return run != runs_.end() && run->second.store.get() == &store;
}

bool ShardRunner::ended(ShardId shard) const {
  const auto run = runs_.find(shard);
  return run != runs_.end() && run->second.ended;
}

void ShardRunner::count_time(ShardStore& store) {
  ShardStore::Doing& doing = store.doing();
  const Duration time = turn_.now - doing.since;
  doing.since = turn_.now;
  if (store.shard() == kNoShard) return;  // The observer waits for all others.
  times_.total += time;
  const Exchanged exchanged = store.take_exchanged();
  times_.waited += doing.waits ? time : std::min<Duration>(time, exchanged.waited);
  times_.exchanged_bytes += exchanged.bytes_sent;
}

void ShardRunner::wake(ShardStore& store) {
  auto answered = store.take_ready();
  if (answered.empty()) return;
  count_time(store);
  store.doing().waits = false;
  for (auto& each : answered) ready_.emplace_back(&store, std::move(each));
}

void ShardRunner::tell(ShardId shard, News news) {
  const auto run = runs_.find(shard);
  if (run != runs_.end()) tell(*run->second.store, std::move(news));
}

void ShardRunner::tell(ShardStore& store, News news) {
  if (&store == work_.store) {
    held_.push_back(std::move(news));
    return;
  }
  news(store);
  wake(store);
}

void ShardRunner::yield(ShardStore& store, std::shared_ptr<Completion> completion) {
  store.doing().waits = false;
  yielding_.emplace_back(&store, std::move(completion));
}

void ShardRunner::wake_yielding() {
  if (computing()) return;
  for (const auto& [store, completion] : std::exchange(yielding_, {})) {
    if (!completion->waiter) {  // Its program goes on without it, and may be gone.
      completion->done = true;
      continue;
    }
    store->answer(*completion, {store->failed() ? store->failure() : ok_status(), {}, {}});
    wake(*store);
  }
}

void ShardRunner::choose() {
  if (computing() || ready_.empty()) return;
  std::tie(work_.store, work_.answered) = std::move(ready_.front());
  work_.taken = false;
  ready_.pop_front();
  work_.store->set_job_closes(closes_);
}

Computation* ShardRunner::take_work() {
  return !computing() || std::exchange(work_.taken, true) ? nullptr : &work_;
}

ShardStore& ShardRunner::computed() {
  THALWEG_CHECK(computing() && work_.taken, "what was computed was taken");
  ShardStore& store = *std::exchange(work_.store, nullptr);
  count_time(store);
  const auto goes_on = [&](const auto& ready) { return ready.first == &store; };
  store.doing().waits = std::none_of(ready_.begin(), ready_.end(), goes_on);
  for (const News& news : std::exchange(held_, {})) tell(store, news);
  return store;
}

std::vector<Status> ShardRunner::take_ended() {
  THALWEG_CHECK(!computing(), "whether it has ended is not known yet");
  std::erase_if(retired_, [](const Run& run) { return run.task->done(); });
  std::vector<Status> ended;
  for (auto& [shard, run] : runs_) {
    if (!run.task || run.ended || !run.task->done()) continue;
    run.ended = true;
    const Status status = run.task->take();
    ended.push_back(status.ok() ? run.store->failure()
                                : status);  // A push may have failed that it did not await.
  }
  return ended;
}

void ShardRunner::clear() {
  THALWEG_CHECK(!computing(), "a program is destroyed where it waits");
  ready_.clear();
  yielding_.clear();
  retired_.clear();
  for (auto& [shard, run] : runs_) run.task.reset();
}

}  // namespace thalweg
