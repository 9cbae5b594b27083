// The worker node: takes part in the job, runs the programs of the data shards that it owns, and sees to what
// they ask for. Each part has a file: ShardRunner, RequestBook, PushRelay; this one takes word from one to
// the other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/membership.h"
#include "node/node.h"
#include "worker/pull_relay.h"
#include "worker/push_relay.h"
#include "worker/request_book.h"
#include "worker/shard_runner.h"
#include "worker/turn.h"

namespace thalweg {

struct WorkerOptions {
  cluster::MemberOptions member;
  // May be empty: then shards are used from outside, see Worker::store(). That of an observer, which owns no
  // shard, runs once, with a store that can count, scan and wait only.
  ShardProgram program{};
};

class Worker final : public Node {
 public:
  explicit Worker(WorkerOptions options);
  ~Worker() override;

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override;
  void on_time(Instant now, Transport& out) override;
  Instant next_deadline() const override;
  Computation* take_work() override { return runner_.take_work(); }
  void on_computed(Instant now, Transport& out) override;
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  bool finished() const override { return member_.stopped().has_value(); }
  bool has_left(NodeId peer) const override { return member_.has_left(peer); }

  // Runs `work` as a turn of this node, so that it may use the stores. Used by blocking callers.
  void turn(Instant now, Transport& out, const std::function<void()>& work);
  // Whether this worker owns the shard and has started it.
  bool started(ShardId shard) const { return runner_.started(shard); }
  // The store of such a shard; null while its program computes.
  ShardStore* store(ShardId shard) { return runner_.store(shard); }
  bool computing() const { return runner_.computing(); }
  // Runs `program` on a shard that was started, as if it had been its own. In a turn.
  void run(ShardId shard, const ShardProgram& program) { runner_.run(shard, program); }
  // A request of the shard's program that something else than this node sees to has ended. In a turn.
  void end_request(ShardId shard, std::shared_ptr<Completion> completion, const Status& how) {
    runner_.tell(shard, [completion = std::move(completion), how](ShardStore& store) {
      store.answer(*completion, {how, {}, {}});
    });
  }
  // For a caller that waits no longer for `completion`, a request of `shard`: what it waited for. In a turn.
  Status overdue(ShardId shard, const Completion& completion) const {
    return book_.overdue(shard, completion);
  }
  const cluster::Membership& membership() const { return member_; }
  const wire::Map& map() const { return member_.map(); }
  std::size_t requests_open() const { return book_.open(); }
  Counters counters() const;
  // Tells the scheduler that this node's part is over; unless OK, that ends the job. In a turn.
  void end(const Status& status) { member_.end(status, *turn_.out); }

 private:
  struct Turn;  // Sets turn_ for the length of a call.

  void on_map();
  void on_stop();
  void adopt_shards();
  void drop_shard(ShardId shard, const Status& why);
  void send_calls(ShardStore& store);
  void end_programs();
  void keep_in_touch();
  void lose_scheduler(std::string why);
  void give_up(const Status& why);
  void forgive_own_pause();
  void on_push(NodeId from, Frame frame);
  void on_ended(const Request& request, Answer answer);
  void on_kept(const Request& push);
  void take_answer(ShardStore& store, RequestKind kind, Step step, Completion& completion,
                   const Answer& answer);
  void send_combined();
  void on_ask(NodeId from, const Frame& frame);
  void take_rows(const Request& request, const Answer& answer);
  void pull_here(ShardStore& store, StoreCall call);
  static void show(ShardStore& store, const PullRelay::OwnPull& pull, const PullRelay::Shown& shown);
  void refuse(std::vector<PullRelay::OwnPull> pulls, const Status& why);
  void send_rows(NodeId to, Frame frame);
  void answer_asker(const Asker& asker, const Status& status);
  bool stopped() const { return member_.stopped().has_value(); }
  Instant due() const;

  cluster::Membership member_;
  WorkerTurn turn_;
  PushRelay relay_;
  PullRelay rows_;
  std::uint64_t answered_bytes_ = 0;  // Of answers to other workers, whose pushes were combined here.
  RequestBook book_;
  ShardRunner runner_;
};

}  // namespace thalweg
