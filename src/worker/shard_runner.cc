#include "worker/shard_runner.h"

namespace thalweg {
namespace {

constexpr wire::Marks kFresh{Step{}, Step{}, false};  // Of a shard that nobody has worked on.

}  // namespace

void ShardRunner::take_map(const wire::Map& map) {
  if (job_.epoch == 0) job_ = map;
  closes_ = map.closing;
}

void ShardRunner::add(ShardId shard, std::uint32_t owner_epoch) {
  runs_[shard].store = std::make_unique<ShardStore>(job_, shard, owner_epoch, kFresh);
}

void ShardRunner::start(ShardId shard, const wire::Marks& marks) {
  Run& run = runs_.at(shard);
  if (marks.reach != Step{}) {
    run.store = std::make_unique<ShardStore>(job_, shard, run.store->owner_epoch(), marks);
  }
  run.started = true;
  if (program_) ShardRunner::run(shard, program_);
}

void ShardRunner::run(ShardId shard, const ShardProgram& program) {
  Run& run = runs_.at(shard);
  run.store->set_job_closes(closes_);
  run.task.emplace(program(*run.store, job_));
  ready_.push_back({run.store.get(), run.task->handle()});
}

void ShardRunner::drop(ShardId shard, const Status& why) {
  Run& run = runs_.at(shard);
  run.store->abort(why);
  wake(*run.store);
  if (run.task && !run.task->done()) retired_.push_back(std::move(run));
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

ShardStore* ShardRunner::store(ShardId shard) {
  const auto run = runs_.find(shard);
  return run == runs_.end() || !run->second.started ? nullptr : run->second.store.get();
}

bool ShardRunner::ended(ShardId shard) const {
  const auto run = runs_.find(shard);
  return run != runs_.end() && run->second.ended;
}

void ShardRunner::wake(ShardStore& store) {
  for (const auto& handle : store.take_ready()) ready_.push_back({&store, handle});
}

void ShardRunner::answer(ShardId shard, Completion& completion, Answer answer) {
  const auto run = runs_.find(shard);
  if (run == runs_.end()) return;
  run->second.store->answer(completion, std::move(answer));
  wake(*run->second.store);
}

bool ShardRunner::push_done(ShardId shard, Step step, const Status& status) {
  const auto run = runs_.find(shard);
  if (run == runs_.end()) return true;
  ShardStore& store = *run->second.store;
  const bool fails = !status && !store.failed();
  store.push_done(step, status);
  wake(store);
  return !fails;
}

void ShardRunner::refuse(ShardStore& store, Completion& completion) {
  store.answer(completion, {store.failure(), {}, {}});
  wake(store);
}

void ShardRunner::yield(ShardStore& store, std::shared_ptr<Completion> completion) {
  yielding_.emplace_back(&store, std::move(completion));
}

void ShardRunner::wake_yielding() {
  for (const auto& [store, completion] : std::exchange(yielding_, {})) {
    if (!completion->waiter) {  // Its program goes on without it, and may be gone.
      completion->done = true;
      continue;
    }
    store->answer(*completion, {});
    wake(*store);
  }
}

ShardStore* ShardRunner::resume() {
  if (ready_.empty()) return nullptr;
  const Ready next = ready_.front();
  ready_.pop_front();
  next.store->set_job_closes(closes_);
  next.from.resume();
  return next.store;
}

std::vector<Status> ShardRunner::take_ended() {
  std::erase_if(retired_, [](const Run& run) { return run.task->done(); });
  std::vector<Status> ended;
  for (auto& [shard, run] : runs_) {
    if (!run.task || run.ended || !run.task->done()) continue;
    run.ended = true;
    ended.push_back(run.task->take());
  }
  return ended;
}

void ShardRunner::clear() {
  ready_.clear();
  yielding_.clear();
  retired_.clear();
  for (auto& [shard, run] : runs_) run.task.reset();
}

}  // namespace thalweg
