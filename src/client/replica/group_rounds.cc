#include "client/replica/group_rounds.h"

namespace thalweg {
namespace {

// Behind a round's vector.
enum Word : std::size_t { kHasStep, kAskedToClose, kWeight, kWords };

}  // namespace

GroupRounds::~GroupRounds() {
  if (ranks_->group) ranks_->group->free(memory_.data());
}

Result<std::span<float>> GroupRounds::vector_of(std::size_t floats) {
  const std::size_t count = floats + kWords;
  if (memory_.size() < count) {
    ranks_->group->free(memory_.data());
    memory_ = {};
    auto memory = ranks_->group->allocate<float>(count);
    if (!memory) return memory.status();
    memory_ = *memory;
  }
  return memory_.first(count);
}

Task<Status> GroupRounds::settle(std::span<float> vector, Mine mine) {
  const std::span<float> words = vector.last(kWords);
  words[kHasStep] = mine.has_step ? 1.0f : 0.0f;
  words[kAskedToClose] = mine.asked_to_close ? 1.0f : 0.0f;
  words[kWeight] = static_cast<float>(mine.weight);
  Status status = co_await ranks_->run(sum_in_place(vector, ranks_->route));
  if (!status.ok()) co_return status;
  any_has_step_ = words[kHasStep] > 0;
  closing_ = closing_ || words[kAskedToClose] > 0;
  weight_ = static_cast<double>(words[kWeight]);
  co_return ok_status();
}

Task<Status> GroupRounds::agree(Mine mine) {
  const auto words = vector_of(0);
  if (!words) co_return words.status();
  co_return co_await settle(*words, mine);
}

Task<Status> GroupRounds::sum_sparse(Replica& replica, std::span<const StepPush> pushes) {
  const StepPush none;
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    if (replica.is_dense(TableId{t})) continue;
    const StepPush& push = pushes.empty() ? none : pushes[t];
    if (Status status = co_await sum_sparse(replica, TableId{t}, push); !status.ok()) co_return status;
  }
  co_return ok_status();
}

Task<Status> GroupRounds::add_up(SparseCall call) {
  call.options.bytes_max = SparseOptions::kUnlimited;
  call.out = &sparse_;
  co_return co_await ranks_->all_reduce_sparse(call);
}

Task<Status> GroupRounds::sum_sparse(Replica& replica, TableId table, const StepPush& push) {
  SparseCall call;
  if (push.pushed && push.keys.size() > 0) {
    call.keys = *push.keys.values();
    call.rows = push.grads.span();
  }
  call.dim = replica.spec(table).dim;
  call.last_wins = replica.spec(table).rule.kind == RuleKind::kAssign;
  if (Status status = co_await add_up(call); !status.ok()) co_return status;
  const Contribution sum{sparse_.keys, sparse_.rows, 0};
  replica.apply(table, {&sum, 1});
  co_return ok_status();
}

Task<Status> GroupRounds::mean(Replica& replica, Mine mine) {
  const Status dense = co_await mean_of_dense(replica, mine, replica);
  if (!dense.ok() || !has_mean()) co_return dense;
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    if (replica.is_dense(TableId{t})) continue;
    if (Status status = co_await mean_sparse(replica, TableId{t}, mine); !status.ok()) co_return status;
  }
  co_return ok_status();
}

Task<Status> GroupRounds::mean_of_dense(const Replica& replica, Mine mine, Replica& into) {
  const std::size_t floats = replica.dense_floats();
  const auto vector = vector_of(floats);
  if (!vector) co_return vector.status();
  const std::span<float> rows = vector->first(floats);
  replica.read_dense(rows);
  const float weight = static_cast<float>(mine.weight);
  if (weight != 1.0f) {
    for (float& value : rows) value = weight > 0 ? value * weight : 0.0f;
  }
  Status status = co_await settle(*vector, mine);
  if (!status.ok() || !has_mean()) co_return status;
  const float part = static_cast<float>(1 / weight_);
  for (float& value : rows) value *= part;
  into.write_dense(rows);
  co_return ok_status();
}

Task<Status> GroupRounds::mean_sparse(Replica& replica, TableId table, Mine mine) {
  const std::vector<std::uint64_t> touched = replica.take_touched(table);
  SparseCall call;
  call.keys = touched;
  call.dim = 0;
  if (Status status = co_await add_up(call); !status.ok()) co_return status;
  const std::vector<std::uint64_t>& keys = sparse_.keys;
  if (keys.empty()) co_return ok_status();
  std::vector<float> rows(keys.size() * replica.stored_width(table));
  replica.read_stored(table, keys, rows);
  const float weight = static_cast<float>(mine.weight / weight_);
  for (float& value : rows) value = weight > 0 ? value * weight : 0.0f;
  Status summed = co_await ranks_->run(sum_in_place(rows, ranks_->route));
  if (!summed.ok()) co_return summed;
  replica.write_stored(table, keys, rows);
  co_return ok_status();
}

}  // namespace thalweg
