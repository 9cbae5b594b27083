// The server node: owns those key ranges of every table that the map gives it, applies pushes exactly once,
// answers pulls when the gate is open.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/membership.h"
#include "cluster/stale_notices.h"
#include "node/node.h"
#include "replication/outbox.h"
#include "server/chain/copies_in.h"
#include "server/chain/copies_out.h"
#include "server/chain/range_of.h"
#include "server/cut.h"
#include "server/table_host.h"
#include "wire/messages.h"

namespace thalweg {

struct ServerOptions {
  cluster::MemberOptions member;
  // Finds an application's update rule by name; needed only for tables of kind kCustom.
  std::function<std::shared_ptr<const CustomRule>(const std::string&)> custom_rule{};
  // Of all tables; a push that would make them larger by new rows is refused with kData. 0: no limit.
  std::uint64_t table_bytes_max = 0;
  StoreCut store_cut{};  // Empty: this server's part of a checkpoint cannot be stored.
  std::size_t cut_piece_bytes = kCutPieceBytes;  // Of rows, that are handed to be stored in one turn.
  bool heirs_come = true;                 // As TableHost has it: not where all workers are of this process.
  std::shared_ptr<SideBySide> threads{};  // Share the work of large pulls and steps.
  std::size_t copy_piece_bytes =
      limits::kCopyPieceBytes;  // Of a range, that are sent to a joiner in one turn.
};

class Server final : public Node {
 public:
  explicit Server(ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override;
  void on_time(Instant now, Transport& out) override;
  Instant next_deadline() const override {
    return work_.waits() ? Instant{0}
                         : std::min({member_.next_deadline(), outbox_.next_deadline(), closes_at_});
  }
  Computation* take_work() override { return work_.take(); }
  void on_computed(Instant now, Transport& out) override;
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  bool finished() const override { return member_.stopped().has_value(); }
  bool has_left(NodeId peer) const override { return member_.has_left(peer); }

  const cluster::Membership& membership() const { return member_; }
  const wire::Map& map() const { return member_.map(); }
  const std::vector<std::unique_ptr<TableHost>>& tables() const { return tables_; }
  // Of ranges that others own, for the case that these are lost.
  const std::vector<std::unique_ptr<TableHost>>& copies() const { return copies_; }
  const replication::Outbox& outbox() const { return outbox_; }
  Counters counters() const;

  // Ranges that a map has given to others, with all that was known of them, until they are fetched.
  using GivenUp = std::map<RangeOf, RangeState>;
  const GivenUp& given_up() const { return given_up_; }
  // Precondition: given_up() has it.
  RangeState fetch(TableId table, RangeId range) { return given_up_.extract({table, range}).mapped(); }
  // Whether the map gives a range to this server that it has not got yet: nobody is answered about it.
  bool awaits(TableId table, RangeId range) const {
    return table.value < awaited_.size() && awaited_[table.value].contains(range);
  }
  // What another server gave up has come. Precondition: it is awaited.
  void adopt(TableId table, std::vector<RangeState> states, Transport& out);

  std::size_t pulls_waiting() const {
    std::size_t count = 0;
    for (const auto& table : waiting_) count += table.size();
    return count;
  }

 private:
  void on_map(bool first, Transport& out);
  Status check_dense_room() const;
  Status make_tables();
  void follow_placement(Transport& out);
  std::uint64_t room_for(const TableHost& host, const Frame& push);
  Status check_marks(const TableSpec& spec, std::size_t ranges) const;
  // The table a data frame is for, or why it may not be served now.
  Result<TableHost*> admit(const FrameHeader& head) const;
  void on_push(NodeId from, const Frame& frame, Transport& out);
  void on_pull(NodeId from, Frame frame, Transport& out);
  void on_scan(NodeId from, const Frame& frame, Transport& out);
  void on_load(NodeId from, const Frame& frame, Transport& out);
  void on_entry(NodeId from, const Frame& frame, Transport& out);
  void on_entry_reply(NodeId from, const Frame& frame, Transport& out);
  void on_marks(NodeId from, const Frame& frame, Transport& out);
  bool answer_pull(NodeId from, const Frame& frame, Transport& out);
  void answer_waiting(TableHost& host, Transport& out);
  // Where steps wait for a limited time: closes those whose time is over, and finds when the next one's is.
  void close_expired(Transport& out);
  Frame answer_to(const FrameHeader& request, Op op, const Status& status, Bytes first, Bytes second,
                  std::uint8_t flags = 0);
  void reply(NodeId to, const FrameHeader& request, Op op, const Status& status, Bytes first, Bytes second,
             Transport& out, std::uint8_t flags = 0) {
    if (status.code() == Code::kStale && !stale_.is_due(now_, to, request.map_epoch)) return;
    out.send(to, answer_to(request, op, status, std::move(first), std::move(second), flags));
  }

  Result<std::unique_ptr<TableHost>> make_host(std::size_t table, const RangeSet& owned) const;
  std::uint32_t self() const { return member_.id()->index; }
  // Answers when all that has been changed so far is in the copies.
  void reply_committed(NodeId to, Frame answer, Transport& out);
  void answer_push(NodeId from, const Frame& push, TableHost& host, Transport& out);
  void settle_pushes(std::size_t table, Transport& out);
  // What a table has changed goes to those who copy it.
  void pass_on(std::size_t table, Transport& out);
  void send_entries(Transport& out);
  void release_committed(Transport& out);
  void refuse_entry(NodeId from, const FrameHeader& entry, Transport& out);
  // Tells who comes before which entries are in all copies; `again`: also where nothing is new.
  void acknowledge_entries(replication::StreamId before, bool again, Transport& out);
  // Where what is told of these ranges goes, if anybody comes next. Precondition: they are of one unit.
  std::optional<replication::StreamId> next_of(TableId table, RangeSpan ranges) const;
  std::optional<replication::StreamId> previous_of(TableId table, RangeId range) const;
  // Whether nothing of these ranges is committed before who comes next has it. Precondition: somebody does.
  bool awaits_next(TableId table, RangeSpan ranges) const;
  RangeOf unit_of(std::uint32_t lineage) const;
  std::uint32_t lineage_of(TableId table, RangeId range) const;
  bool takes_from(NodeId from, const FrameHeader& head) const;
  Status replay(const Frame& entry);
  std::vector<RangeSpan> logged_runs(std::size_t table) const;
  void take_over(std::size_t table, Transport& out);
  void mend_chains(Transport& out);

  void on_checkpoint(const Frame& frame, Transport& out);
  void begin_cut();
  void drop_cuts();
  void collect_cut();
  void feed_cut();
  void forget_cut(Transport& out);
  void report_checkpoint(Transport& out) const;
  void follow_joins(Transport& out);
  void send_copies(Transport& out);
  CopiesOut::Ranges ranges_to_copy();
  Status take_piece(NodeId from, const Frame& piece);
  // Whether nothing of what this server gets behind that one is still on its way.
  bool has_all_of(NodeId sender) const;
  void tell_joined(Transport& out) const;

  // Who waits for which request of its own; a repeat replaces it.
  using PullKey = std::pair<NodeId, std::uint32_t>;

  ServerOptions options_;
  cluster::Membership member_;
  std::vector<std::unique_ptr<TableHost>> tables_;  // By table id.
  std::vector<RangeSet> awaited_;                   // By table id.
  cluster::StaleNotices stale_;
  GivenUp given_up_;
  std::vector<std::map<PullKey, Frame>> waiting_;  // By table id.

  std::vector<std::unique_ptr<TableHost>> copies_;  // By table id.
  replication::Outbox outbox_;
  // By table id, the parts that have one chain each.
  std::vector<std::vector<RangeSpan>> units_;
  // What comes from one who is before this server in chains.
  struct Inbound {
    std::uint64_t expected = 1;  // The number of its next entry.
    struct Passed {
      std::uint64_t number = 0;
      std::optional<replication::StreamId> to;  // Who comes next in its chain.
      std::uint64_t position = 0;
    };
    std::deque<Passed> passed;  // Those before which something is not acknowledged by who comes next.
  };
  std::map<replication::StreamId, Inbound> inbound_;
  void hand_on(Inbound::Passed& passed, Frame entry);

  CopiesIn copies_in_;
  CopiesOut copies_out_;

  struct Committing {
    std::uint64_t position = 0;  // In outbox_.
    NodeId to;
    Frame answer;
  };
  std::deque<Committing> committing_;
  std::vector<std::map<PullKey, FrameHeader>> kept_pushes_;  // By table id; answered when their step closes.
  Instant now_;
  Instant closes_at_ = kNever;  // The first step whose time is over.

  wire::CheckpointOrder order_;        // The newest.
  wire::CheckpointReport checkpoint_;  // What has become of it.
  CutWork work_;

  std::uint64_t pulls_ = 0;
  std::uint64_t pushes_ = 0;
  std::uint64_t push_bytes_ = 0;
  std::uint64_t push_value_bytes_ = 0;
  std::uint64_t copy_value_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;  // Answers to pushes and pulls.
  std::uint64_t room_left_ = 0;   // For new rows; what is left is no less.
};

}  // namespace thalweg
