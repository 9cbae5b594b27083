// The worker node: runs one task for each data shard it owns, and turns their pushes and pulls into frames
// that are sent until they are answered.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/membership.h"
#include "node/node.h"
#include "thalweg/task.h"
#include "wire/messages.h"
#include "worker/combiner.h"
#include "worker/request.h"
#include "worker/shard_store.h"

namespace thalweg {

// The work of one data shard, from store.step() on. Its failure fails the job.
using ShardProgram = std::function<Task<Status>(ShardStore& store, const wire::Map& map)>;

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
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  bool finished() const override { return member_.stopped().has_value(); }

  // Runs `work` as a turn of this node, so that it may use the stores. Used by blocking callers.
  void turn(Instant now, Transport& out, const std::function<void()>& work);
  // The store of a shard that this worker owns and has started; null otherwise.
  ShardStore* store(ShardId shard);
  // Runs `program` on a shard that this worker owns and has started, as if it had been its own. In a turn.
  void run(ShardId shard, const ShardProgram& program);
  // Destroys what is left of the programs. Precondition: finished().
  void drop_programs();
  // For a caller that waits no longer for `completion`, a request of `shard`: what it waited for. In a turn.
  Status overdue(ShardId shard, const Completion& completion) const;
  const cluster::Membership& membership() const { return member_; }
  const wire::Map& map() const { return member_.map(); }
  std::size_t requests_open() const { return parts_.size(); }
  // Tells the scheduler that this node's part is over; unless OK, that ends the job.
  void end(const Status& status);

  // For ShardStore; inside a turn.
  Pending push(const ShardStore& store, TableId table, Step step, const Keys& keys, const Rows& grads,
               std::uint8_t flags);
  Pending pull(const ShardStore& store, TableId table, Step step, const Keys& keys, bool read_only);
  Pending barrier(const ShardStore& store, Step number);
  Pending report(const ShardStore& store, Step number, const std::string& text);
  Pending scan(const ShardStore& store, TableId table, RangeId range);
  Pending count(const ShardStore& store, TableId table);
  Pending yield();
  void complete(Completion& completion, Status status);

 private:
  struct Run {
    std::unique_ptr<ShardStore> store;
    std::optional<Task<Status>> task;
    bool started = false;
    bool ended = false;
  };
  struct Turn;  // Sets now_ and out_ for the length of a call.

  void on_map();
  void on_stop();
  void on_answer(NodeId from, Frame& frame);
  void on_waiting(NodeId from, const Frame& frame);
  void adopt_shards();
  void drop_shard(ShardId shard, const Status& why);
  void start(ShardId shard, const wire::Marks& marks);
  void finish_tasks();
  void keep_in_touch();
  void lose_scheduler(std::string why);
  void abandon_requests(const Status& why);
  void forgive_own_pause();
  void on_push(NodeId from, Frame frame);
  Status check_push(NodeId from, const Frame& frame) const;
  void restart_combiner();
  void send_combined();
  void answer_asker(const Asker& asker, const Status& status);
  std::optional<NodeId> combiner_for(RequestPart& part) const;

  std::shared_ptr<Request> make_request(RequestKind kind, ShardId shard, Step step);
  void send_part(const std::shared_ptr<Request>& request, std::size_t position, NodeId to, Frame frame);
  void send_slices(const std::shared_ptr<Request>& request, std::size_t position, const Frame& head,
                   std::vector<Slice> slices);
  void ask_servers(const std::shared_ptr<Request>& request);
  std::optional<NodeId> owner_of(const FrameHeader& head) const;
  std::vector<std::uint32_t> sent_to_servers() const;
  void address_anew(const std::vector<std::uint32_t>& numbers, bool moved);
  void cut_anew(std::uint32_t number);
  void transmit(RequestPart& part);
  void retry_refused(RequestPart& part);
  void finish_part(std::map<std::uint32_t, RequestPart>::iterator part, Frame& frame);
  bool take_scan(RequestPart& part, const Frame& frame);
  void finish_request(Request& request, Status status);
  void finish_all(ShardId shard, const Status& why);
  void gather_pull(Request& request);
  void gather_scan(Request& request);
  void drop_parts(const Request& request);
  void retry_due();
  Status timeout(const RequestPart& part) const;
  bool stopped() const { return member_.stopped().has_value(); }
  NodeId self() const { return *member_.id(); }

  ShardProgram program_;
  cluster::Membership member_;
  Combiner combiner_;
  std::map<ShardId, Run> runs_;
  std::vector<Run> retired_;                    // Fenced shards whose tasks have still to notice.
  std::map<std::uint32_t, RequestPart> parts_;  // By request number, oldest first but for wrap-around.
  std::uint32_t next_request_ = 1;
  std::deque<std::coroutine_handle<>> ready_;          // Tasks to resume, one a turn.
  std::vector<std::shared_ptr<Completion>> yielding_;  // Tasks that let the ready ones go first.
  Instant wake_ = kNever;                              // For requests.
  Instant now_;
  Transport* out_ = nullptr;
};

}  // namespace thalweg
