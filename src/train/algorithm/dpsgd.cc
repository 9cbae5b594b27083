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
        neighbours_.push_back({j, static_cast<float>(weight), nullptr, true});
    }
  }

  // What is under way uses this one's memory.
  ~Gossip() override {
    rounds_.ranks().stop();
    if (under_way_) (void)under_way_->wait();
  }

  Task<Status> before_pull(ReplicaWork work, TableId, Keys) override {
    if (under_way_) co_return ok_status();
    co_return co_await settled(begin(work, false));
  }
  Task<Status> end_step(ReplicaWork work) override {
    Status status = co_await exchange(work, false);
    status = co_await settled(std::move(status));
    if (!status.ok()) co_return status;
    mix(work.replica);
    apply_own(work);
    co_return ok_status();
  }
  Task<Status> end_pass(ReplicaWork work) override {
    Status status = co_await exchange(work, true);
    if (status.ok()) status = co_await catch_up();
    if (status.ok()) {
      const GroupRounds::Mine mine{false, work.asked_to_close || closing_, 1};
      status = co_await rounds_.mean_of_dense(work.replica, mine, *mean_);
    }
    for (Neighbour& neighbour : neighbours_) neighbour.active = true;
    co_return co_await settled(std::move(status));
  }
  Replica* shown(Replica&) override { return &*mean_; }
  bool closing(bool) const override { return closing_ || rounds_.closing(); }

 private:
  struct Neighbour {
    std::uint32_t rank = 0;
    float weight = 0;
    const float* message = nullptr;  // In theirs_, of the last exchange.
    bool active = true;              // Neither it nor this shard has come to the end of the pass.
  };

  Task<Status> settled(Status status) { return or_wait_for_the_end(rounds_.ranks(), std::move(status)); }
  Status begin(const ReplicaWork& work, bool ended);
  void start(std::span<const std::uint32_t> neighbours);
  Task<Status> wait();
  Task<Status> exchange(ReplicaWork work, bool ended);
  Task<Status> catch_up();
  void mix(Replica& replica);

  GroupRounds rounds_;
  std::vector<Neighbour> neighbours_;
  std::vector<float> own_;     // The message: rows, then words.
  std::vector<float> theirs_;  // Of the neighbours that are active when the exchange begins.
  std::optional<GroupWork> under_way_;
  std::uint64_t exchanges_ = 0;
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
    theirs_.resize(neighbours_.size() * own_.size());
  }
  work.replica.read_dense(std::span(own_).first(rows));
  own_[rows + kEnded] = ended ? 1.0f : 0.0f;
  own_[rows + kClosing] = work.asked_to_close || closing_ ? 1.0f : 0.0f;
  std::vector<std::uint32_t> active;
  for (Neighbour& neighbour : neighbours_) {
    if (!neighbour.active) continue;
    neighbour.message = theirs_.data() + active.size() * own_.size();
    active.push_back(neighbour.rank);
  }
  start(active);
  return ok_status();
}

void Gossip::start(std::span<const std::uint32_t> neighbours) {
  GroupCall call = Group::typed<float>(Operation::kNeighbours, own_.data(), theirs_.data(), own_.size());
  call.neighbours = neighbours;
  under_way_ = rounds_.ranks().group->start(call);
  ++exchanges_;
}

Task<Status> Gossip::wait() {
  Status status = co_await rounds_.ranks().finish(*under_way_);
  under_way_.reset();
  co_return status;
}

Task<Status> Gossip::exchange(ReplicaWork work, bool ended) {
  if (!under_way_) {
    if (Status status = begin(work, ended); !status.ok()) co_return status;
  }
  if (Status status = co_await wait(); !status.ok()) co_return status;
  const std::size_t rows = own_.size() - kGossipWords;
  for (Neighbour& neighbour : neighbours_) {
    if (!neighbour.active) continue;
    if (ended || neighbour.message[rows + kEnded] > 0) neighbour.active = false;
    closing_ = closing_ || neighbour.message[rows + kClosing] > 0;
  }
  closing_ = closing_ || work.asked_to_close;
  co_return ok_status();
}

// Ranks of a group make the same calls: those of the shard with most steps.
Task<Status> Gossip::catch_up() {
  std::uint64_t most = exchanges_;
  Status status = co_await rounds_.ranks().run(
      Group::typed<std::uint64_t>(Operation::kAllReduce, &most, &most, 1, Reduction::kMax));
  while (status.ok() && exchanges_ < most) {
    start({});
    status = co_await wait();
  }
  co_return status;
}

// A neighbour that has ended its pass stays as it is, and so does this one's part of it: what is left of the
// matrix is symmetric, and its rows add up to 1.
void Gossip::mix(Replica& replica) {
  std::vector<const float*> messages;
  std::vector<float> weights;
  for (const Neighbour& neighbour : neighbours_) {
    if (!neighbour.active) continue;
    messages.push_back(neighbour.message);
    weights.push_back(neighbour.weight);
  }
  Group::mix<float>(own_, messages, weights);
  replica.write_dense(std::span<const float>(own_).first(own_.size() - kGossipWords));
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
