#include "client/replica/replica_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/completion.h"
#include "base/placed_keys.h"

namespace thalweg {
namespace {

constexpr std::size_t kPublishedFloats = std::size_t{1} << 20;  // Of a push.

Answer answer(Status status, Rows rows = {}) { return {std::move(status), std::move(rows), {}}; }

Pending completed(Status status) { return Completion::ended({std::move(status), {}, {}}); }

}  // namespace

ReplicaStore::ReplicaStore(Store& shared, Replica replica, std::unique_ptr<ReplicaAlgorithm> algorithm,
                           Step first, std::shared_ptr<ShardGroup> ranks)
    : shared_(shared),
      replica_(std::move(replica)),
      algorithm_(std::move(algorithm)),
      ranks_(std::move(ranks)),
      step_(first),
      pushes_(replica_.tables()) {}

ReplicaStore::~ReplicaStore() = default;

Pending ReplicaStore::begin(Task<Answer> work) {
  running_.remove_if([](const RequestTask& request) { return request.done(); });
  running_.push_back(RequestTask::begin(std::move(work)));
  return running_.back().pending();
}

Pending ReplicaStore::push(TableId table, Keys keys, Rows grads) {
  if (!failure_.ok()) return completed(failure_);
  if (!keeps(table)) return shared_.push(table, std::move(keys), std::move(grads));
  if (Status status = replica_.check_push(table, keys, grads.span()); !status.ok()) {
    if (status.code() != Code::kUsage) failure_ = status;  // As when a server refuses it.
    return refusals_.refuse(std::move(status));
  }
  StepPush& push = pushes_[table.value];
  if (push.pushed) {
    return refusals_.refuse(
        {Code::kUsage, fmt::format("second push to {} in step {}.{}; call advance() between them",
                                   replica_.spec(table).name, step_.epoch, step_.index)});
  }
  push = {true, std::move(keys), std::move(grads)};
  algorithm_->pushed(work(), table);
  return completed(ok_status());
}

Pending ReplicaStore::pull(TableId table, Keys keys) {
  if (!failure_.ok()) return completed(failure_);
  if (!keeps(table)) return shared_.pull(table, std::move(keys));
  if (Status status = replica_.check(table, keys); !status.ok()) return completed(std::move(status));
  return begin(pulled(table, std::move(keys)));
}

void ReplicaStore::tell_exchanged() {
  if (ranks_) shared_.exchanged(ranks_->take_exchanged());
}

Task<Answer> ReplicaStore::pulled(TableId table, Keys keys) {
  Status status = co_await algorithm_->before_pull(work(), table, keys);
  tell_exchanged();
  if (!status.ok()) {
    if (failure_.ok()) failure_ = status;
    co_return answer(std::move(status));
  }
  co_return answer(ok_status(), replica_.read(table, keys));
}

Pending ReplicaStore::advance() {
  if (const Status& why = stopped(); !why.ok()) return completed(why);
  if (step_ == kEndOfWork) return completed({Code::kUsage, "this shard has ended its work"});
  return begin(advanced());
}

Task<Answer> ReplicaStore::advanced() {
  Status status = co_await algorithm_->end_step(work());
  tell_exchanged();
  forget_pushes();
  step_ = step_.next();
  if (!status.ok()) failure_ = status;
  co_return answer(std::move(status));
}

void ReplicaStore::forget_pushes() {
  for (StepPush& push : pushes_) push = {};
  rows_ = 0;
}

Pending ReplicaStore::end_epoch() {
  if (const Status& why = stopped(); !why.ok()) return completed(why);
  if (step_ == kEndOfWork) return completed({Code::kUsage, "this shard has ended its work"});
  if (std::any_of(pushes_.begin(), pushes_.end(), [](const StepPush& push) { return push.pushed; })) {
    return completed({Code::kUsage, "end_epoch() within a step; call advance() first"});
  }
  return begin(epoch_ended());
}

Task<Answer> ReplicaStore::epoch_ended() {
  Status status = co_await algorithm_->end_pass(work());
  tell_exchanged();
  if (Replica* const shown = status.ok() ? algorithm_->shown(replica_) : nullptr) {
    status = co_await publish(*shown);
  }
  if (status.ok()) status = (co_await shared_.end_epoch()).status;
  step_ = step_.next_epoch();
  if (!status.ok()) failure_ = status;
  co_return answer(std::move(status));
}

// Without the state that servers may keep behind a row.
Task<Answer> ReplicaStore::read_shown(TableId table, Keys keys) {
  Answer shown = co_await shared_.read(table, keys);
  if (shown.status.ok() && table.value < replica_.tables())
    shown.rows = without_state(shown.rows, keys.size(), replica_.spec(table).dim);
  co_return shown;
}

// Every shard's replica is shown alike, so one of them does it for all.
Task<Status> ReplicaStore::publish(Replica& shown) {
  for (std::uint16_t t = 0; t < shown.tables(); ++t) {
    const TableId table{t};
    if (shard().value != 0 || !keeps(table)) continue;
    if (!shown.is_dense(table)) {
      if (Status status = co_await publish_keys(shown, table); !status.ok()) co_return status;
      continue;
    }
    const Keys rows = Keys::block(0, shown.spec(table).rows);
    shared_.push(table, rows, shown.read_shown(table, rows)).forget();
  }
  co_return (co_await shared_.advance()).status;
}

Task<Status> ReplicaStore::publish_keys(Replica& shown, TableId table) {
  const std::vector<std::uint64_t> changed = shown.take_changed(table);
  const std::size_t at_once = std::max<std::size_t>(1, kPublishedFloats / shown.stored_width(table));
  for (std::size_t done = 0; done < changed.size(); done += at_once) {
    const auto part = std::span(changed).subspan(done, std::min(at_once, changed.size() - done));
    const Keys keys = placed_keys({part.begin(), part.end()});
    shared_.push(table, keys, shown.read_shown(table, keys)).forget();
    if (Status status = (co_await shared_.advance()).status; !status.ok()) co_return status;
  }
  co_return ok_status();
}

Pending ReplicaStore::end_work() {
  if (const Status& why = stopped(); !why.ok()) return completed(why);
  step_ = kEndOfWork;
  return shared_.end_work();
}

}  // namespace thalweg
