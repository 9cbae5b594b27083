#include <fmt/format.h>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "client/group/group_driver.h"
#include "client/replica/apply_own.h"
#include "client/replica/group_rounds.h"
#include "train/algorithm/algorithm.h"
#include "train/algorithm/pairing.h"

namespace thalweg {
namespace {

constexpr std::size_t kPartnersMax = Group::kStartedMax - 2;

// x_i, x_j <- (x_i + x_j) / 2 for a pair at a time, and x_i <- x_i - rate * g_i, each at its own pace, where
// g_i is the gradient at x_i before its pair met. The one that is asked answers on the group's thread, also
// while its shard computes. What is shown is the mean of all x_i.
class Pairs final : public ReplicaAlgorithm {
 public:
  explicit Pairs(AlgorithmShard shard)
      : pairing_(shard.mixing, shard.shards, shard.shard.value, shard.seed),
        rounds_(std::move(shard.ranks)) {}
  // What is under way uses this one's memory.
  ~Pairs() override {
    rounds_.ranks().stop();
    for (std::optional<GroupWork>* const each : {&sent_, &answered_}) {
      if (*each) (void)(*each)->wait();
    }
    if (served_) (void)GroupWork(served_).wait();
    const std::lock_guard lock(mutex_);  // Whoever said so is through with it.
  }

  Task<Status> before_pull(ReplicaWork work, TableId, Keys) override {
    co_return co_await settled(ask(work));
  }
  Task<Status> end_step(ReplicaWork work) override {
    Status status = begin_pass(work);
    // What is computed ahead of virtual time is not to be met before its time.
    if (rounds_.ranks().waiter != nullptr) (void)co_await work.shared.yield();
    if (status.ok() && pairing_.asks()) {
      status = co_await end_asking_step(work);
    } else if (status.ok()) {
      status = end_asked_step(work);
    }
    co_return co_await settled(std::move(status));
  }
  Task<Status> end_pass(ReplicaWork work) override {
    Status status = begin_pass(work);
    if (status.ok() && pairing_.asks()) {
      status = co_await end_asking(work);
    } else if (status.ok()) {
      status = co_await end_being_asked(work);
    }
    const GroupRounds::Mine mine{false, work.asked_to_close, 1};
    if (status.ok()) status = co_await rounds_.mean_of_dense(work.replica, mine, *mean_);
    in_pass_ = false;
    co_return co_await settled(std::move(status));
  }
  Replica* shown(Replica&) override { return &*mean_; }
  // A shard that is asked to close ends its pass; all agree at the end of it.
  bool closing(bool asked) const override { return in_pass_ ? asked : rounds_.closing(); }

 private:
  // Nobody awaits it; its frame goes when it is over.
  struct Detached {
    struct promise_type {
      Detached get_return_object() { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
  };

  Task<Status> settled(Status status) {
    if (!status.ok()) {
      const std::lock_guard lock(starting_);
      stopped_ = true;
    }
    return or_wait_for_the_end(rounds_.ranks(), std::move(status));
  }
  Status begin_pass(const ReplicaWork& work);
  Status ask(const ReplicaWork& work);
  Task<Status> take_answer();
  Task<Status> end_asking_step(ReplicaWork work);
  Status end_asked_step(const ReplicaWork& work);
  Task<Status> end_asking(ReplicaWork work);
  Task<Status> end_being_asked(ReplicaWork work);
  Detached serve(std::uint32_t partner);
  // None once this shard has failed, and may have given its group up.
  std::optional<GroupWork> carry(std::uint32_t from, std::uint32_t to, std::vector<float>& message);
  std::size_t rows() const { return own_.size() - 1; }

  Pairing pairing_;
  GroupRounds rounds_;
  std::optional<Replica> mean_;
  bool in_pass_ = false;
  std::vector<float> own_;     // Of one that asks: its message, rows and whether it asks no more.
  std::vector<float> answer_;  // The same, of whom it asked.
  std::optional<GroupWork> sent_, answered_;

  std::mutex starting_;  // One thread at a time starts operations.
  bool stopped_ = false;

  std::mutex mutex_;         // Guards what follows, of one that is asked.
  std::vector<float> rows_;  // Its replica's, and what meetings have made of them since the last step.
  std::size_t serving_ = 0;
  std::shared_ptr<GroupWork::State> served_;  // Ends when nobody asks this one any more in this pass.
  Status failure_;
};

std::optional<GroupWork> Pairs::carry(std::uint32_t from, std::uint32_t to, std::vector<float>& message) {
  const std::lock_guard lock(starting_);
  if (stopped_) return std::nullopt;
  Group& group = *rounds_.ranks().group;
  float* const data = message.data();
  GroupCall call = Group::typed<float>(Operation::kPointToPoint, from == group.rank() ? data : nullptr,
                                       from == group.rank() ? nullptr : data, message.size());
  call.root = from;
  call.peer = to;
  return group.start(call);
}

Status Pairs::begin_pass(const ReplicaWork& work) {
  if (std::exchange(in_pass_, true)) return ok_status();
  if (pairing_.partners().size() > kPartnersMax) {
    return {Code::kUsage,
            fmt::format("--algorithm adpsgd: shard {} has {} neighbours that ask or are asked; expected at "
                        "most {}: a graph with fewer edges, such as exponential",
                        rounds_.ranks().rank(), pairing_.partners().size(), kPartnersMax)};
  }
  if (!mean_) {
    std::vector<TableSpec> tables;
    for (std::uint16_t t = 0; t < work.replica.tables(); ++t) tables.push_back(work.replica.spec(TableId{t}));
    auto mean = Replica::make(tables);
    if (!mean) return mean.status();
    mean_ = std::move(mean).value();
    own_.resize(work.replica.dense_floats() + 1);
    answer_.resize(own_.size());
    rows_.resize(rows());
  }
  pairing_.begin_pass();
  if (pairing_.asks()) return ok_status();
  {
    const std::lock_guard lock(mutex_);
    work.replica.read_dense(rows_);
    serving_ = pairing_.partners().size();
    served_ = std::make_shared<GroupWork::State>();
    if (serving_ == 0) served_->end(ok_status());
  }
  for (const std::uint32_t partner : pairing_.partners()) serve(partner);
  return ok_status();
}

Status Pairs::ask(const ReplicaWork& work) {
  if (Status status = begin_pass(work); !status.ok()) return status;
  if (!pairing_.asks() || pairing_.partners().empty() || pairing_.waits_for()) return ok_status();
  const std::uint32_t self = rounds_.ranks().rank(), partner = pairing_.ask();
  work.replica.read_dense(std::span(own_).first(rows()));
  own_[rows()] = 0;
  answered_ = carry(partner, self, answer_);
  sent_ = carry(self, partner, own_);
  return ok_status();
}

Task<Status> Pairs::take_answer() {
  Status status;
  for (std::optional<GroupWork>* const each : {&sent_, &answered_}) {
    if (!*each) continue;
    Status ends = co_await rounds_.ranks().finish(**each);
    if (status.ok()) status = std::move(ends);
    each->reset();
  }
  co_return status;
}

Task<Status> Pairs::end_asking_step(ReplicaWork work) {
  if (pairing_.waits_for()) {
    if (Status status = co_await take_answer(); !status.ok()) co_return status;
    pairing_.answered();
    for (std::size_t i = 0; i < rows(); ++i) own_[i] -= answer_[i];
    work.replica.write_dense(std::span<const float>(own_).first(rows()));
  }
  apply_own(work);
  co_return ok_status();
}

Status Pairs::end_asked_step(const ReplicaWork& work) {
  const std::lock_guard lock(mutex_);
  work.replica.write_dense(rows_);
  apply_own(work);
  work.replica.read_dense(rows_);
  return failure_;
}

Task<Status> Pairs::end_asking(ReplicaWork work) {
  if (Status status = co_await end_asking_step(work); !status.ok()) co_return status;
  std::vector<std::optional<GroupWork>> told;
  own_[rows()] = 1;
  for (const std::uint32_t partner : pairing_.partners())
    told.push_back(carry(rounds_.ranks().rank(), partner, own_));
  Status status;
  for (auto& each : told) {
    Status ends = co_await rounds_.ranks().finish(*each);
    if (status.ok()) status = std::move(ends);
  }
  co_return status;
}

Task<Status> Pairs::end_being_asked(ReplicaWork work) {
  (void)co_await rounds_.ranks().finish(GroupWork(served_));
  const std::lock_guard lock(mutex_);
  work.replica.write_dense(rows_);
  co_return failure_;
}

// Answers one partner until it asks no more, on the group's own thread but for the beginning.
Pairs::Detached Pairs::serve(std::uint32_t partner) {
  const std::uint32_t self = rounds_.ranks().rank();
  std::vector<float> message(own_.size());
  Status status;
  while (auto asked = carry(partner, self, message)) {
    status = co_await *asked;
    if (!status.ok() || message[rows()] > 0) break;
    {
      const std::lock_guard lock(mutex_);
      meet(rows_, std::span(message).first(rows()));
    }
    auto answer = carry(self, partner, message);
    if (!answer) break;
    status = co_await *answer;
    if (!status.ok()) break;
  }
  const std::lock_guard lock(mutex_);
  if (status.ok()) pairing_.ended();
  if (failure_.ok()) failure_ = std::move(status);
  if (--serving_ == 0) served_->end(ok_status());
}

}  // namespace

extern constinit const Algorithm kPairsAlgorithm = {
    .name = "adpsgd",
    .summary =
        "each shard updates a replica at its own pace; pairs of neighbours now and then take their mean",
    .result = "depends on timing",
    .paper =
        "Lian et al., Asynchronous decentralized parallel stochastic gradient descent, ICML 2018, "
        "algorithm 1",
    .word = "ring|torus|exponential|complete|FILE",
    .word_unsaid = "ring",
    .group = Algorithm::Group::kAlways,
    .sparse = false,
    .consistency = [](const AlgorithmValues&) { return Consistency::sync(); },
    .make = [](const AlgorithmValues&, AlgorithmShard shard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<Pairs>(std::move(shard));
    },
};

}  // namespace thalweg
