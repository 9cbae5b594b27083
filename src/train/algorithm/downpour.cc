#include <unordered_set>
#include <utility>
#include <vector>

#include "client/replica/apply_own.h"
#include "client/replica/fetch.h"
#include "client/replica/sparse_sum.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

// Each fetch-th step: w <- the servers' rows. Each step: w <- w - rate * g, a <- a + g. Each push-th step: a
// goes to the servers, whose rule applies it as it comes, and a <- 0.
class Downpour final : public ReplicaAlgorithm {
 public:
  explicit Downpour(const AlgorithmValues& values)
      : fetch_every_(values.whole("fetch")), push_every_(values.whole("push")) {}

  Task<Status> before_pull(ReplicaWork work, TableId table, Keys keys) override {
    make_tables(work.replica);
    Table& own = tables_[table.value];
    const bool due = work.step.index % fetch_every_ == 0 && own.fetched_at != work.step;
    if (!work.replica.is_dense(table)) {
      if (due) own.known.clear();
      own.fetched_at = due ? work.step : own.fetched_at;
      co_return co_await fetch(work, table, unknown_keys(keys, own.known));
    }
    if (!due && own.has_fetched) co_return ok_status();
    own.has_fetched = true;
    own.fetched_at = work.step;
    co_return co_await fetch(work, table, Keys::block(0, work.replica.spec(table).rows));
  }

  Task<Status> end_step(ReplicaWork work) override {
    make_tables(work.replica);
    for (std::uint16_t t = 0; t < work.pushes.size(); ++t) add(work.replica, TableId{t}, work.pushes[t]);
    apply_own(work);
    if ((work.step.index + 1) % push_every_ == 0) push_sums(work);
    co_return (co_await work.shared.advance()).status;
  }

  Task<Status> end_pass(ReplicaWork work) override {
    make_tables(work.replica);
    if (!push_sums(work)) co_return ok_status();
    co_return (co_await work.shared.advance()).status;
  }

 private:
  struct Table {
    SparseSum sparse;
    std::vector<float> dense;                 // Whole, or nothing.
    std::unordered_set<std::uint64_t> known;  // Sparse: keys that have been fetched since the last time.
    Step fetched_at = kEndOfWork;
    bool has_fetched = false;
  };

  void make_tables(const Replica& replica) {
    for (std::size_t t = tables_.size(); t < replica.tables(); ++t)
      tables_.push_back({SparseSum(replica.spec(TableId{static_cast<std::uint16_t>(t)}).dim), {}, {}});
  }

  void add(const Replica& replica, TableId table, const StepPush& push) {
    if (!push.pushed || push.keys.size() == 0) return;
    Table& own = tables_[table.value];
    const std::span<const float> grads = push.grads.span();
    if (!replica.is_dense(table)) return own.sparse.add(*push.keys.values(), grads);
    const TableSpec& spec = replica.spec(table);
    own.dense.resize(spec.rows * spec.dim, 0.0f);
    const std::size_t first = (*push.keys.values())[0] * spec.dim;
    for (std::size_t i = 0; i < grads.size(); ++i) own.dense[first + i] += grads[i];
  }

  bool push_sums(const ReplicaWork& work) {
    bool pushed = false;
    for (std::uint16_t t = 0; t < tables_.size(); ++t) {
      Table& own = tables_[t];
      if (!own.dense.empty()) {
        pushed = true;
        const Keys rows = Keys::block(0, work.replica.spec(TableId{t}).rows);
        work.shared.push(TableId{t}, rows, Rows(std::exchange(own.dense, {}))).forget();
      }
      if (!own.sparse.empty()) {
        pushed = true;
        SparseSum::Taken sum = own.sparse.take();
        work.shared.push(TableId{t}, std::move(sum.keys), std::move(sum.sums)).forget();
      }
    }
    return pushed;
  }

  const std::uint32_t fetch_every_;
  const std::uint32_t push_every_;
  std::vector<Table> tables_;
};

constexpr AlgorithmNumber kDownpourNumbers[] = {
    {.name = "fetch",
     .placeholder = "N",
     .low = 1,
     .high = 1e6,
     .fallback = 1,
     .summary = "steps from one fetch of the servers' rows to the next"},
    {.name = "push",
     .placeholder = "N",
     .low = 1,
     .high = 1e6,
     .fallback = 1,
     .summary = "steps whose gradients are pushed together"},
};

}  // namespace

extern constinit const Algorithm kDownpourAlgorithm = {
    .name = "downpour",
    .summary =
        "each shard updates a replica, and now and then fetches rows and pushes what its gradients sum to",
    .result = "depends on timing",
    .paper = "Dean et al., Large scale distributed deep networks, NIPS 2012, section 4.1 and algorithm 1.1",
    .numbers = kDownpourNumbers,
    .state = false,
    .consistency = [](const AlgorithmValues&) { return Consistency::async(); },
    .make = [](const AlgorithmValues& values, AlgorithmShard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<Downpour>(values);
    },
};

}  // namespace thalweg
