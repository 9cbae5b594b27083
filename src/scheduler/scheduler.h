// The scheduler node: names the nodes, hands out the map, gives a lost worker's shards to others, runs
// barriers. Pushes and pulls do not pass through it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/node.h"
#include "scheduler/checkpoints.h"
#include "scheduler/drain.h"
#include "scheduler/failovers.h"
#include "scheduler/growth.h"
#include "scheduler/timeline.h"
#include "thalweg/job_status.h"
#include "wire/messages.h"

namespace thalweg {

// A shard's report, as another scheduler is to have it.
struct KeptReport {
  ShardId shard;
  ReportId number;
  std::string text;
};

struct SchedulerOptions {
  std::uint64_t cluster = 1;
  std::uint32_t servers = 1;   // To start with; more may join later.
  std::uint32_t replicas = 1;  // Servers that have each key range, or all of them where there are fewer.
  std::uint32_t workers = 1;   // To start with; more may join later and take over shards of lost ones.
  std::uint32_t shards = 1;
  Consistency consistency;
  Combining combine;  // In sync and softsync mode; ignored in others.
  std::vector<TableSpec> tables;
  std::string job;                              // The application's own configuration, handed to every node.
  Duration timeout = std::chrono::seconds(60);  // Deadline of every wait without progress.
  Duration suspect_after = std::chrono::seconds(10);  // A silent node is lost.
  bool shards_stay = false;  // Of workers that live: their programs keep what no server has.
  Step first;  // That data shards begin with; of rows that an observer loads, which hold the steps before it.
  CheckpointPolicy checkpoint;
  // All called inside a turn. A checkpoint that was taken is none before complete_checkpoint().
  std::function<void(const TakenCheckpoint&)> on_checkpoint_taken;
  std::function<void(const FailedCheckpoint&)> on_checkpoint_failed;
  // Its state is kept, see KeptScheduler: nodes wait for another one where it is gone.
  bool kept = false;
  std::uint32_t before = 0;  // Schedulers that this job has had: each has an observer of another name.
  // The name under which the only node that may observe the job, and end it well, joins.
  std::optional<NodeId> observer;
  // Tells by a number which data shards have been read from, for maps; 0: nobody knows yet. Called inside a
  // turn.
  std::function<std::uint64_t()> data;
  // Each report of a shard once, in the shard's order; called inside a turn.
  std::function<void(ShardId, ReportId, std::string_view)> on_report;
  // A shard's program has ended well; once or more for each, inside a turn.
  std::function<void(ShardId)> on_program_end;
  // A node that came or went while the job runs, or that others go on without one, in a sentence for people;
  // called inside a turn.
  std::function<void(const std::string&)> on_event;
};

// For people: what the scheduler knows of the cluster.
struct ClusterView {
  std::uint32_t servers = 0;  // Alive, and not gone.
  std::uint32_t servers_left = 0;
  std::uint32_t workers = 0;
  std::uint32_t map_epoch = 0;
  Counters counters;  // Of all nodes.
  std::vector<ServerFailover> failovers;
  std::optional<Step> last_checkpoint;
};

class Scheduler final : public Node {
 public:
  explicit Scheduler(SchedulerOptions options);

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override;
  void on_time(Instant now, Transport& out) override;
  Instant next_deadline() const override { return std::min(wake_, checkpoint_due()); }
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override;
  bool finished() const override { return finished_; }
  bool over() const override { return stopped_.has_value(); }

  // Whoever started the node that joined under this name knows how it ended, such as "was ended by signal 9":
  // it is lost at once, and for good. True where it was to leave, and has.
  bool on_node_dead(Instant now, std::string_view name, const std::string& how, Transport& out);

  // Ends the job on every node. The first call decides the status.
  void stop(Instant now, const Status& status, Transport& out);
  // Asks the data shards to end early; from then on only kLoadedBarrier and kLastBarrier hold anybody.
  void close(Transport& out);
  // Has nodes that are told to stop stay for what there is to do before the job ends.
  void end_soon(Transport& out);
  // Gives ranges of a table to a chain of servers, the first of which is to own them, by a new map. kRetry:
  // not yet, or no more. kUsage: there are no such ranges or servers.
  Status place(TableId table, RangeSpan ranges, std::vector<std::uint32_t> chain, Transport& out);
  // As soon as may be, besides those that are taken anyway.
  void ask_checkpoint(Instant now) { checkpoints_.ask(now); }
  // What another scheduler is to know to take this one's job up, reports aside; empty before it has begun.
  std::string image() const;
  // Those that have come since the last call, where the state is kept.
  std::vector<KeptReport> take_reports() { return std::exchange(kept_reports_, {}); }
  // Takes up the job of another scheduler, all of whose reports are told again. kUsage: it is another job
  // than the options say; kModel: the image cannot be read. Before the first turn.
  Status restore(Instant now, std::string_view image, const std::vector<KeptReport>& reports);
  // The cluster of an image; empty where it cannot be read.
  static std::optional<std::uint64_t> cluster_of(std::string_view image);
  // What an image is of; empty where it cannot be read.
  struct Imaged {
    wire::Map map;
    std::uint32_t workers = 0;      // That it began with,
    std::uint32_t copies = 0;       // and servers that were to have each key range.
    bool loaded = false;            // As loaded() has it.
    std::optional<Status> stopped;  // As stopped() has it.
    std::set<BarrierId> open;
  };
  static std::optional<Imaged> imaged(std::string_view image);
  // kUsage: these options are not those of that job.
  static Status check_same_job(const Imaged& job, const SchedulerOptions& options);
  // What was taken is complete where it was to be, or why not.
  void complete_checkpoint(Instant now, std::uint64_t number, const Status& status, bool whole_next) {
    checkpoints_.on_completed(now, number, status, whole_next);
  }
  // Where work can go on from: the newest complete checkpoint's step.
  const std::optional<Step>& last_checkpoint() const { return checkpoints_.newest(); }
  const wire::Map& map() const { return map_; }
  const std::optional<Status>& stopped() const { return stopped_; }
  bool started() const { return map_.epoch != 0; }
  // Whether a member is taken for lost; once the job has begun, for good.
  bool lost(NodeId node) const {
    const auto member = members_.find(node);
    return member != members_.end() && member->second.lost;
  }
  // Whether it is lost because its input was no good.
  bool turned_away(NodeId node) const {
    const auto member = members_.find(node);
    return member != members_.end() && member->second.turned_away.has_value();
  }
  // Whether a server is in no chain any more because it was to leave.
  bool has_left(NodeId node) const override {
    const auto member = members_.find(node);
    return member != members_.end() && member->second.left;
  }
  // Where a node listens; empty: it is none of that machine.
  std::string address_on(std::string_view machine, NodeId node) const;
  // Who may have been told something by the scheduler before, of a job that goes on.
  std::set<NodeId> members_told() const;
  // Whether the rows that the job begins with are there.
  bool loaded() const {
    const auto barrier = barriers_.find(kLoadedBarrier);
    return barrier != barriers_.end() && barrier->second.open;
  }
  // Whether servers that came late have yet to get their part.
  bool growing() const { return !growth_.goals.empty() || !growth_.waiting.empty(); }
  // The server that is to leave and is in chains yet.
  std::optional<std::uint32_t> leaving() const { return leaving_; }
  ClusterView view() const;
  JobStatus status(Instant now) const;
  // Key ranges, of all tables, that as many servers have as are to have each.
  std::uint32_t ranges_in_sync() const;
  // When the first server was lost of which copies are being made again; empty when that is so of none.
  std::optional<Instant> copying_since() const {
    return losses_.empty() ? std::nullopt : std::optional(losses_.front().at);
  }
  // "server-1, worker-0": who has not joined yet; empty once all have.
  std::string missing() const;

 private:
  struct Member {
    NodeId temporary;  // The id it joined under.
    bool observer = false;
    bool named = false;  // It has spoken under its own id, and so can be spoken to.
    bool lost = false;
    bool left = false;  // A server: it is in no chain any more, and has been told to end.
    bool dead = false;  // Lost for good: it has ended, or before the job began another server took its seat.
    bool proven = false;  // It was there when the job began, or has reported of a shard since.
    bool stop_seen = false;
    std::optional<Status> turned_away;  // A worker that came late and could not do its part: why.
    std::string address;
    std::string name;
    std::string machine;
    std::uint32_t pid = 0;
    Instant heard;
    Counters counters;
    std::uint32_t map_epoch = 0;  // Of the map that it had, when it last spoke of one.
    bool gone() const { return lost || left; }
  };

  void on_join(Instant now, NodeId from, const Frame& frame, Transport& out);
  void on_ended(Instant now, NodeId from, const Frame& frame, Transport& out);
  bool may_turn_away(NodeId from, Code code) const;
  void turn_away(Instant now, NodeId worker, const Status& why, Transport& out);
  bool has_free_seat() const;
  void free_seat();
  void forgive_own_pause(Instant now);
  void on_barrier(NodeId from, const Frame& frame, Transport& out);
  void on_report(NodeId from, const Frame& frame, Transport& out);
  void on_heartbeat(Instant now, NodeId from, const Frame& frame, Transport& out);
  void on_status(Instant now, NodeId from, const FrameHeader& request, Transport& out) const;
  void add_shards(JobStatus& told) const;
  void note_acting(Instant now, std::uint32_t server, std::uint32_t epoch);
  void tell_event(const std::string& text) const;
  std::uint32_t count(Role role, bool alive_only) const;
  void begin_if_complete(Instant now, Transport& out);
  void begin(Transport& out);
  void place_workers();
  void publish(Transport& out);
  void tell_to_stop(Role role, Transport& out);
  void lose(Instant now, NodeId node, const std::string& why, Transport& out);
  std::string reassign(Instant now, std::uint32_t worker);
  void share_with(Instant now, NodeId newcomer, Transport& out);
  std::string take_shares(Instant now, std::uint32_t newcomer);
  std::string fail_over(Instant now, std::uint32_t server);
  std::string take_out(Instant now, std::uint32_t server);
  void plan_copies();
  Status may_come() const;
  void list_server(std::uint32_t server);
  void welcome_server(Instant now, std::uint32_t server, Transport& out);
  void grow(Instant now);
  void aim(std::uint32_t newcomer);
  void trim_chains();
  bool is_ahead(const Goal& goal) const;
  void follow_goals(Instant now);
  void tell_grown(Instant now, const Growth::Newcomer& newcomer);
  void keep_growing(std::uint32_t lost);
  void on_joined(Instant now, NodeId from, const Frame& frame, Transport& out);
  void tell_of_copies(Instant now);
  void on_drain(Instant now, NodeId from, const Frame& frame, Transport& out);
  Status may_leave(std::uint32_t server) const;
  Status may_be_spared(std::uint32_t server) const;
  void begin_drain(Instant now, NodeId from, std::uint32_t request, std::uint32_t server, Transport& out);
  bool others_have_all(std::uint32_t server) const;
  void let_go(Instant now, Transport& out);
  void note_left(Instant now, NodeId server);
  void keep_leaving(Instant now, NodeId lost);
  void note_copied(std::uint32_t by, std::size_t table, const RangeSet& joined);
  std::uint32_t servers_that_stay() const;
  // A server that can have ranges from now on: who has yet to speak under its name may never be able to.
  bool stays(NodeId id, const Member& member) const;
  std::uint32_t copies_wanted() const;
  void tell_drain(Instant now, NodeId to, const FrameHeader& request, std::uint32_t server,
                  Transport& out) const;
  Instant checkpoint_due() const { return started() && !stopped_ ? checkpoints_.next_deadline() : kNever; }
  void order_checkpoint(Instant now, Transport& out);
  void on_checkpoint_report(Instant now, NodeId from, const Frame& frame);
  void tell(const Checkpoints::Outcome& outcome) const;
  bool owns(NodeId from, const FrameHeader& head) const;
  Status disowned(const FrameHeader& head) const;
  void release(BarrierId id, Transport& out);
  std::string describe_member(NodeId node) const;
  std::string lost_ranges(NodeId server) const;
  void send(NodeId to, Op op, const Status& status, Bytes first, Transport& out) const;
  void answer(NodeId to, const FrameHeader& request, Op op, const Status& status, Transport& out,
              Bytes told = {}) const;
  static std::string names_of(const std::set<std::uint32_t>& servers);

  void put_members(Writer& to) const;
  void get_members(Instant now, Reader& from);
  void put_changes(Writer& to) const;
  void get_changes(Instant now, Reader& from);
  std::optional<Imaged> read_image(Instant now, std::string_view image);

  static constexpr Duration kStopPatience = std::chrono::seconds(3);

  SchedulerOptions options_;
  std::map<NodeId, Member> members_;
  wire::Map map_;
  Checkpoints checkpoints_;
  struct Barrier {
    std::set<ShardId> arrived;
    bool open = false;
    std::map<NodeId, std::vector<FrameHeader>> waiting;
  };
  std::map<BarrierId, Barrier> barriers_;
  // A server that is lost, and what others have yet to get copies of in its place.
  struct Loss {
    std::uint32_t server = 0;
    Instant at;
    std::vector<RangeSet> left;  // By table.
    std::size_t made = 0;        // Ranges that have their copies again,
    std::set<std::uint32_t> by;  // at these servers.
  };
  std::vector<Loss> losses_;
  std::map<std::uint32_t, Drain> drains_;  // By server, the newest of each.
  std::optional<std::uint32_t> leaving_;   // Of these the one whose chains get others.
  Growth growth_;
  bool placed_ = false;                   // By place().
  std::map<ShardId, ReportId> reported_;  // The newest report of each shard.
  std::set<ShardId> ended_;               // Whose programs have ended well.
  Timeline timeline_;
  Failovers failovers_;
  std::vector<KeptReport> kept_reports_;
  std::uint64_t progress_ = 0;
  std::optional<Status> stopped_;
  Instant stop_until_ = kNever;
  Instant stop_servers_at_ = kNever;
  bool servers_told_ = false;  // To stop.
  bool finished_ = false;
  Instant wake_{0};
};

}  // namespace thalweg
