#include "client/replica/group_rounds.h"

#include <algorithm>
#include <cmath>

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

Status GroupRounds::settle(std::span<float> vector, const Mine& mine) {
  const std::span<float> words = vector.last(kWords);
  words[kHasStep] = mine.has_step ? 1.0f : 0.0f;
  words[kAskedToClose] = mine.asked_to_close ? 1.0f : 0.0f;
  words[kWeight] = static_cast<float>(mine.weight);
  Status status =
      ranks_->wait([&] { return ranks_->group->all_reduce<float>(vector, Reduction::kSum, ranks_->route); });
  if (!status.ok()) return status;
  any_has_step_ = words[kHasStep] > 0;
  closing_ = closing_ || words[kAskedToClose] > 0;
  weight_ = static_cast<double>(words[kWeight]);
  return ok_status();
}

Status GroupRounds::sum_sparse(Replica& replica, std::span<const StepPush> pushes) {
  const StepPush none;
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    if (replica.is_dense(TableId{t})) continue;
    const StepPush& push = pushes.empty() ? none : pushes[t];
    if (Status status = sum_sparse(replica, TableId{t}, push); !status.ok()) return status;
  }
  return ok_status();
}

Status GroupRounds::gather_keys(std::span<const std::uint64_t> own, std::vector<std::uint64_t>& all,
                                std::vector<std::size_t>& counts) {
  const std::uint64_t mine[] = {own.size()};
  std::vector<std::uint64_t> said(ranks_->size());
  Group& group = *ranks_->group;
  Status status = ranks_->wait([&] { return group.all_gather<std::uint64_t>(mine, said); });
  if (!status.ok()) return status;
  counts.assign(said.begin(), said.end());
  std::size_t keys = 0;
  for (const std::size_t count : counts) keys += count;
  all.resize(keys);
  return ranks_->wait([&] { return group.all_gather<std::uint64_t>(own, all, counts); });
}

Status GroupRounds::sum_sparse(Replica& replica, TableId table, const StepPush& push) {
  const std::size_t dim = replica.spec(table).dim;
  std::vector<std::uint64_t> keys;
  std::vector<std::size_t> counts, floats;
  std::span<const std::uint64_t> own;
  if (push.pushed && push.keys.size() > 0) own = *push.keys.values();
  if (Status status = gather_keys(own, keys, counts); !status.ok()) return status;
  for (const std::size_t count : counts) floats.push_back(count * dim);
  std::vector<float> grads(keys.size() * dim);
  Status gathered =
      ranks_->wait([&] { return ranks_->group->all_gather<float>(push.grads.span(), grads, floats); });
  if (!gathered.ok()) return gathered;
  std::vector<Contribution> parts;
  std::size_t at = 0;
  for (std::uint32_t r = 0; r < counts.size(); ++r) {
    const Contribution part{std::span(keys).subspan(at, counts[r]),
                            std::span(grads).subspan(at * dim, floats[r]), r};
    if (counts[r] > 0) parts.push_back(part);
    at += counts[r];
  }
  replica.apply(table, parts);
  return ok_status();
}

Status GroupRounds::mean(Replica& replica, const Mine& mine) {
  if (Status status = mean_of_dense(replica, mine, replica); !status.ok()) return status;
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    if (replica.is_dense(TableId{t})) continue;
    if (Status status = mean_sparse(replica, TableId{t}, mine); !status.ok()) return status;
  }
  return ok_status();
}

Status GroupRounds::mean_of_dense(const Replica& replica, const Mine& mine, Replica& into) {
  const std::size_t floats = replica.dense_floats();
  const auto vector = vector_of(floats);
  if (!vector) return vector.status();
  const std::span<float> rows = vector->first(floats);
  replica.read_dense(rows);
  const float weight = static_cast<float>(mine.weight);
  if (weight != 1.0f) {
    for (float& value : rows) value = weight > 0 ? value * weight : 0.0f;
  }
  if (Status status = settle(*vector, mine); !status.ok() || weight_ <= 0) return status;
  const float part = static_cast<float>(1 / weight_);
  for (float& value : rows) value *= part;
  into.write_dense(rows);
  return ok_status();
}

Status GroupRounds::mean_sparse(Replica& replica, TableId table, const Mine& mine) {
  std::vector<std::uint64_t> keys;
  std::vector<std::size_t> counts;
  if (Status status = gather_keys(replica.take_touched(table), keys, counts); !status.ok()) return status;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (keys.empty() || weight_ <= 0) return ok_status();
  std::vector<float> rows(keys.size() * replica.stored_width(table));
  replica.read_stored(table, keys, rows);
  const float weight = static_cast<float>(mine.weight / weight_);
  for (float& value : rows) value = weight > 0 ? value * weight : 0.0f;
  Status summed =
      ranks_->wait([&] { return ranks_->group->all_reduce<float>(rows, Reduction::kSum, ranks_->route); });
  if (!summed.ok()) return summed;
  replica.write_stored(table, keys, rows);
  return ok_status();
}

}  // namespace thalweg
