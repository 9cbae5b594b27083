#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "client/replica/apply_own.h"
#include "client/replica/group_rounds.h"
#include "train/algorithm/algorithm.h"
#include "train/algorithm/mixing.h"

namespace thalweg {
namespace {

// Behind the rows of a message between neighbours.
enum GossipWord : std::size_t { kEnded, kClosing, kGossipWords };

// x_i <- sum over j of W_ij x_j - rate * g_i, where g_i is the gradient at x_i before mixing: neighbours'
// replicas travel while it is computed. What is shown is the mean of all x_i.
class Gossip final : public ReplicaAlgorithm {
 public:
  explicit Gossip(AlgorithmShard shard) : rounds_(std::move(shard.ranks)) {
    for (std::uint32_t j = 0; j < shard.shards; ++j) {
      const double weight = shard.mixing[std::size_t{shard.shard.value} * shard.shards + j];
      if (j != shard.shard.value && weight > 0)
        neighbours_.push_back({j, static_cast<float>(weight), {}, true});
    }
  }

  Task<Status> before_pull(ReplicaWork work, TableId, Keys) override {
    if (!under_way_.empty()) co_return ok_status();
    co_return co_await settled(begin(work, false));
  }
  Task<Status> end_step(ReplicaWork work) override {
    if (Status status = co_await settled(exchange(work, false)); !status.ok()) co_return status;
    mix(work.replica);
    apply_own(work);
    co_return ok_status();
  }
  Task<Status> end_pass(ReplicaWork work) override {
    if (Status status = co_await settled(exchange(work, true)); !status.ok()) co_return status;
    for (Neighbour& neighbour : neighbours_) neighbour.active = true;
    const GroupRounds::Mine mine{false, work.asked_to_close || closing_, 1};
    co_return co_await settled(rounds_.mean_of_dense(work.replica, mine, *mean_));
  }
  Replica* shown(Replica&) override { return &*mean_; }
  bool closing(bool) const override { return closing_ || rounds_.closing(); }

 private:
  struct Neighbour {
    std::uint32_t rank = 0;
    float weight = 0;
    std::vector<float> message;
    bool active = true;  // Neither it nor this shard has come to the end of the pass.
  };

  Task<Status> settled(Status status) { return or_wait_for_the_end(rounds_.ranks(), std::move(status)); }
  Status begin(const ReplicaWork& work, bool ended);
  Status exchange(const ReplicaWork& work, bool ended);
  void mix(Replica& replica);

  GroupRounds rounds_;
  std::vector<Neighbour> neighbours_;
  std::vector<float> own_;  // The message: rows, then words.
  std::vector<GroupWork> under_way_;
  std::optional<Replica> mean_;
  bool closing_ = false;
};

Status Gossip::begin(const ReplicaWork& work, bool ended) {
  const std::size_t rows = work.replica.dense_floats();
  if (!mean_) {
    std::vector<TableSpec> tables;
    for (std::uint16_t t = 0; t < work.replica.tables(); ++t) tables.push_back(work.replica.spec(TableId{t}));
    auto mean = Replica::make(tables);
    if (!mean) return mean.status();
    mean_ = std::move(mean).value();
    own_.resize(rows + kGossipWords);
    for (Neighbour& neighbour : neighbours_) neighbour.message.resize(rows + kGossipWords);
  }
  work.replica.read_dense(std::span(own_).first(rows));
  own_[rows + kEnded] = ended ? 1.0f : 0.0f;
  own_[rows + kClosing] = work.asked_to_close || closing_ ? 1.0f : 0.0f;
  Group& group = *rounds_.ranks().group;
  for (Neighbour& neighbour : neighbours_) {
    if (!neighbour.active) continue;
    GroupCall send = Group::typed<float>(Operation::kPointToPoint, own_.data(), nullptr, own_.size());
    send.root = group.rank();
    send.peer = neighbour.rank;
    GroupCall receive =
        Group::typed<float>(Operation::kPointToPoint, nullptr, neighbour.message.data(), own_.size());
    receive.root = neighbour.rank;
    receive.peer = group.rank();
    under_way_.push_back(group.start(receive));
    under_way_.push_back(group.start(send));
  }
  return ok_status();
}

Status Gossip::exchange(const ReplicaWork& work, bool ended) {
  if (under_way_.empty()) {
    if (Status status = begin(work, ended); !status.ok()) return status;
  }
  Status status;
  for (GroupWork& operation : under_way_) {
    Status ends = rounds_.ranks().wait([&] { return operation.wait(); });
    if (status.ok()) status = std::move(ends);
  }
  under_way_.clear();
  if (!status.ok()) return status;
  const std::size_t rows = own_.size() - kGossipWords;
  for (Neighbour& neighbour : neighbours_) {
    if (!neighbour.active) continue;
    if (ended || neighbour.message[rows + kEnded] > 0) neighbour.active = false;
    closing_ = closing_ || neighbour.message[rows + kClosing] > 0;
  }
  closing_ = closing_ || work.asked_to_close;
  return ok_status();
}

// A neighbour that has ended its pass stays as it is, and so does this one's part of it: what is left of the
// matrix is symmetric, and its rows add up to 1.
void Gossip::mix(Replica& replica) {
  const std::size_t rows = own_.size() - kGossipWords;
  float self = 1;
  for (const Neighbour& neighbour : neighbours_) {
    if (neighbour.active) self -= neighbour.weight;
  }
  for (std::size_t i = 0; i < rows; ++i) own_[i] *= self;
  for (const Neighbour& neighbour : neighbours_) {
    if (!neighbour.active) continue;
    for (std::size_t i = 0; i < rows; ++i) own_[i] += neighbour.weight * neighbour.message[i];
  }
  replica.write_dense(std::span<const float>(own_).first(rows));
}

}  // namespace

extern constinit const Algorithm kGossipAlgorithm = {
    .name = "dpsgd",
    .summary = "each shard mixes its replica with its neighbours' in a graph, and updates it by its gradient",
    .result = "the same bits each time with the same data shards and graph",
    .paper =
        "Lian et al., Can decentralized algorithms outperform centralized algorithms?, NIPS 2017, "
        "algorithm 1",
    .word = "ring|torus|exponential|complete|FILE",
    .group = Algorithm::Group::kAlways,
    .sparse = false,
    .consistency = [](const AlgorithmValues&) { return Consistency::sync(); },
    .make = [](const AlgorithmValues&, AlgorithmShard shard) -> std::unique_ptr<ReplicaAlgorithm> {
      return std::make_unique<Gossip>(std::move(shard));
    },
};

}  // namespace thalweg
