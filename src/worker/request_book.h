// The requests of a worker that are under way: frames that are sent until they are answered, by the newest
// map.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/retry_timer.h"
#include "cluster/membership.h"
#include "worker/push_relay.h"
#include "worker/request.h"
#include "worker/store_call.h"
#include "worker/turn.h"

namespace thalweg {

class RequestBook {
 public:
  // A request has its answer, or fails. Its rows and keys are in the answer.
  using Ended = std::function<void(const Request& request, Answer answer)>;
  // A server has all of a push, and will answer it when it cannot be lost any more. Until then it is kept
  // here.
  using Kept = std::function<void(const Request& push)>;
  // All outlive the book. Functions that change it are for turns.
  RequestBook(const WorkerTurn& turn, const cluster::Membership& member, PushRelay& relay, Ended on_ended,
              Kept on_kept)
      : turn_(turn),
        member_(member),
        relay_(relay),
        on_ended_(std::move(on_ended)),
        on_kept_(std::move(on_kept)) {}

  // Sends what a program has asked for. Not a yield.
  void begin(StoreCall call, ShardId shard, std::uint32_t owner_epoch);
  // Asks every server what it has of the shard.
  void ask_marks(ShardId shard);
  // Sends a sum of pushes on.
  void pass_on(Combiner::Batch batch);
  // Asks for rows that are newer than this worker's.
  void follow(Frame ask);

  void on_answer(NodeId from, Frame& frame);
  void on_waiting(NodeId from, const Frame& frame);
  // Sends again what is due, and fails what nobody gets on with.
  void retry_due();
  // All deadlines move by as long as this process was stopped.
  void forgive(Duration late);
  // When the map changes: drop_sums(), which drops what follows rows as well, and once shards have come and
  // gone address_anew() with what sent_to_servers() told before. `moved`: ranges may have other owners.
  void drop_sums();
  std::vector<std::uint32_t> sent_to_servers() const;
  void address_anew(const std::vector<std::uint32_t>& numbers, bool moved);

  void fail_all(const Status& why);
  void fail_all_of(ShardId shard, const Status& why);

  // Of pushes and pulls that have left this node, each time that one did.
  std::uint64_t sent_bytes() const { return sent_bytes_; }
  std::size_t open() const { return parts_.size(); }
  // When retry_due() is due.
  Instant next_deadline() const { return wake_; }
  void rest() { wake_ = kNever; }
  // For a caller that waits no longer for `completion`, a request of `shard`: what it waited for.
  Status overdue(ShardId shard, const Completion& completion) const;

 private:
  using Parts = std::map<std::uint32_t, RequestPart>;

  std::shared_ptr<Request> make_request(RequestKind kind, ShardId shard, Step step);
  void send_part(const std::shared_ptr<Request>& request, std::size_t position, NodeId to, Frame frame);
  void send_slices(const std::shared_ptr<Request>& request, std::size_t position, const Frame& head,
                   std::vector<Slice> slices);
  void send_rows(const std::shared_ptr<Request>& request, const StoreCall& call, std::uint32_t owner_epoch);
  void ask_servers(const std::shared_ptr<Request>& request);
  void transmit(RequestPart& part);
  static bool is_timed(const RequestPart& part);
  void note_word(RequestPart& part);
  void note_kept(RequestPart& part);
  void ask_for_map();
  void retry_refused(RequestPart& part);
  void cut_anew(std::uint32_t number);
  void finish_part(Parts::iterator found, Frame& frame);
  bool take_scan(RequestPart& part, const Frame& frame);
  void finish(std::shared_ptr<Request> request, Status status);
  void drop_parts(const Request& request);
  Status timeout(const RequestPart& part) const;
  const wire::Map& map() const { return member_.map(); }
  // Whether a server puts a sum in the place of what has come of it. Else it goes back to those who asked for
  // it, who send what they have straight to the server.
  bool sums_replace() const { return map().consistency.kind == Consistency::Kind::kSync; }

  const WorkerTurn& turn_;
  const cluster::Membership& member_;
  PushRelay& relay_;
  Ended on_ended_;
  Kept on_kept_;
  Parts parts_;  // By request number, oldest first but for wrap-around.
  std::uint32_t next_request_ = 1;
  RetryTimer retry_timer_;
  std::uint64_t sent_bytes_ = 0;
  Instant wake_ = kNever;
  // A newer map: the one that was known then, and until when an answer may come.
  std::uint32_t asked_as_of_ = 0;
  Instant ask_again_at_{};
};

}  // namespace thalweg
