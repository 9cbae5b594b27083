#include "client/replica/dense_sums.h"

#include <algorithm>
#include <utility>

namespace thalweg {
namespace {

// What ranks tell each other in a step beside its gradients.
enum StepWord : std::size_t { kAnyStep, kAnyCloses, kStepWords };

// Large enough to be worth a message, small enough that most of a model's layers are under way before the
// last is computed.
constexpr std::uint64_t kBucketBytes = std::uint64_t{1} << 20;

}  // namespace

DenseSums::~DenseSums() {
  if (ranks_->group && !memory_.empty()) ranks_->group->free(memory_.data());
}

// Either way the same buckets are summed by the same route, so that the bits are the same.
Status DenseSums::prepare(const Replica& replica) {
  if (!given_.empty()) return ok_status();
  std::vector<GradientSpec> specs;
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    const TableSpec& spec = replica.spec(TableId{t});
    tensors_.push_back(specs.size());
    if (replica.is_dense(TableId{t})) specs.push_back({spec.name, spec.rows * spec.dim});
  }
  specs.push_back({"step", kStepWords});
  const std::size_t count = specs.size();
  if (ranks_->overlaps) {
    GradientOptions options;
    options.bucket_bytes = kBucketBytes;
    options.piece_bytes = 0;
    options.reduction = Reduction::kSum;
    options.route = ranks_->route;
    options.stall_timeout = ranks_->timeout;
    auto made = Gradients::create(*ranks_->group, std::move(specs), std::move(options));
    if (!made) return made.status();
    early_ = std::move(made).value();
  } else {
    layout_.emplace(specs, sizeof(float), kBucketBytes);
    auto memory = ranks_->group->allocate<float>(layout_->elements());
    if (!memory) return memory.status();
    memory_ = *memory;
  }
  given_.resize(count);
  return ok_status();
}

std::span<float> DenseSums::tensor(std::size_t number) {
  if (early_) return early_->tensor(number);
  const Block block = layout_->block(layout_->mirror(static_cast<std::uint32_t>(number)));
  return memory_.subspan(block.begin, block.count);
}

Status DenseSums::begin(std::size_t number) {
  given_[number] = true;
  return early_ ? early_->announce(number) : ok_status();
}

Status DenseSums::tell(const GroupRounds::Mine& mine) {
  const std::size_t last = given_.size() - 1;
  if (given_[last]) return ok_status();
  tensor(last)[kAnyStep] = mine.has_step ? 1.0f : 0.0f;
  tensor(last)[kAnyCloses] = mine.asked_to_close ? 1.0f : 0.0f;
  return begin(last);
}

Status DenseSums::give(const Replica& replica, TableId table, const StepPush& push,
                       const GroupRounds::Mine& mine) {
  if (Status status = prepare(replica); !status.ok()) return status;
  if (Status status = tell(mine); !status.ok()) return status;
  const std::size_t number = tensors_[table.value];
  const std::span<float> all = tensor(number);
  const std::span<const float> grads = push.grads.span();
  if (grads.size() != all.size()) std::fill(all.begin(), all.end(), 0.0f);
  if (push.pushed) {
    const std::uint64_t first = (*push.keys.values())[0] * replica.spec(table).dim;
    std::copy(grads.begin(), grads.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return begin(number);
}

void DenseSums::pushed(const Replica& replica, TableId table, const StepPush& push, bool asked_to_close) {
  if (failure_.ok()) failure_ = give(replica, table, push, {true, asked_to_close, 1});
}

Task<Status> DenseSums::sum(Replica& replica, GroupRounds::Mine mine) {
  if (!failure_.ok()) co_return failure_;
  if (Status status = prepare(replica); !status.ok()) co_return status;
  if (Status status = tell(mine); !status.ok()) co_return status;
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    if (!replica.is_dense(TableId{t}) || given_[tensors_[t]]) continue;
    if (Status status = give(replica, TableId{t}, {}, mine); !status.ok()) co_return status;
  }
  given_.assign(given_.size(), false);
  const std::size_t last = given_.size() - 1;
  Status status;
  if (early_) {
    status = wait_early(last);
  } else {
    status = co_await sum_buckets();
  }
  if (!status.ok()) co_return status;
  any_has_step_ = tensor(last)[kAnyStep] > 0;
  closing_ = closing_ || tensor(last)[kAnyCloses] > 0;
  co_return apply(replica);
}

// The last tensor lies in the first bucket, and is waited for before any other.
Status DenseSums::wait_early(std::size_t number) {
  return ranks_->wait([&] { return early_->wait(number); });
}

Task<Status> DenseSums::sum_buckets() {
  for (const PositionRun& bucket : layout_->buckets()) {
    const Block block = layout_->block(bucket);
    Status status =
        co_await ranks_->run(sum_in_place(memory_.subspan(block.begin, block.count), ranks_->route));
    if (!status.ok()) co_return status;
  }
  co_return ok_status();
}

// In the order in which the next step reads the tables.
Status DenseSums::apply(Replica& replica) {
  for (std::uint16_t t = 0; t < replica.tables(); ++t) {
    const TableId table{t};
    if (!replica.is_dense(table)) continue;
    if (early_) {
      if (Status status = wait_early(tensors_[t]); !status.ok()) return status;
    }
    if (!any_has_step_) continue;
    const std::span<const float> sums = tensor(tensors_[t]);
    const Keys rows = Keys::block(0, replica.spec(table).rows);
    if (Status status = replica.check_push(table, rows, sums); !status.ok()) return status;
    replica.apply(table, rows, sums);
  }
  return ok_status();
}

}  // namespace thalweg
