// A whole cluster on one thread: production nodes, virtual time, a network that misbehaves on purpose. A run
// is a pure function of its plan.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/kept_scheduler.h"
#include "scheduler/lead_lease.h"
#include "scheduler/scheduler.h"
#include "server/server.h"
#include "sim/cluster/patience_watch.h"
#include "sim/cluster/server_watch.h"
#include "sim/cluster/shard_work.h"
#include "sim/event_queue.h"
#include "sim/findings.h"
#include "sim/network.h"
#include "sim/node_clock.h"
#include "sim/report.h"
#include "sim/room_links.h"
#include "worker/worker.h"

namespace thalweg::sim {

// How the scheduler is told that a killed process ended.
inline constexpr char kKilled[] = "was ended by signal 9";

class EtcdWay;

// What shards and the observer do instead of the workload, and who looks on.
struct Programs {
  ShardProgram shard;
  ShardProgram observer;
  // How long a worker takes for what it has just computed: what comes of that leaves it then, and until then
  // it computes nothing else. Unset: as the plan says.
  std::function<Duration(Instant now)> computed_for{};
  std::function<void(Instant now, ShardId, ReportId, std::string_view text)> on_report{};
  // `sent` leaves a server in the turn that it was given `asked` (null: none).
  std::function<void(NodeId server, const Frame* asked, const Frame& sent)> on_answer{};
  // Where servers store their rows, and who completes what they have stored; unset: no checkpoints.
  CheckpointPolicy checkpoint{};
  StoreCut store_cut{};
  std::size_t cut_piece_bytes = kCutPieceBytes;
  std::function<Status(const TakenCheckpoint&)> complete_checkpoint{};
  Step first{};  // That shards begin with; the observer loads what is before it.
};

// One incarnation of one node; its place in the cluster is its number.
struct Process {
  std::uint32_t place = 0;
  NodeId id;
  std::string name;                // That it joins under.
  std::unique_ptr<Node> node;      // Null once killed.
  std::unique_ptr<Node> corpse;    // Of a scheduler or server that was killed, to see what it knew and held.
  std::unique_ptr<Scheduler> led;  // By `kept_scheduler`, which is the node then.
  KeptScheduler* kept_scheduler = nullptr;
  Scheduler* scheduler = nullptr;  // Of the corpse, too.
  std::uint64_t life = 0;          // Which of the schedulers that came it is.
  std::shared_ptr<EtcdWay> way;    // Of one that leads by a lease.
  std::optional<LeadLease> lease;
  std::optional<StateGuard> term;
  Process* follows = nullptr;  // The scheduler that it is connected with, where that is not who leads.
  Server* server = nullptr;
  Worker* worker = nullptr;
  bool observer = false;
  bool kept = false;               // The job could not go on without it: spared what would make it seem lost.
  bool over = false;               // Its work has ended; it takes no more turns.
  bool gave_up = false;            // Its driver found no scheduler to join.
  bool told_of_scheduler = false;  // By its driver: that the scheduler is lost.
  NodeClock clock;
  Instant scheduler_heard;              // By its own clock; at first, when it was born.
  std::optional<Instant> stopped_at;    // The world's clock: since when its job is over.
  std::optional<Instant> paused_since;  // Until its next turn.
  Duration turn{};                      // How long one turn takes.
  Instant busy_until{0};
  Instant armed = kNever;
  std::deque<std::uint32_t> inbox;
  bool inbox_armed = false;
  Instant heard{0};  // Kept: when the scheduler last got a sign of life.
  std::uint32_t map_epoch = 0;

  bool runs() const { return node != nullptr && !over; }
};

class Cluster {
 public:
  // `plan` outlives the cluster.
  explicit Cluster(const Plan& plan, Trace trace = nullptr, Programs programs = {});
  Cluster(const Cluster&) = delete;
  ~Cluster();

  // One event; false when nothing is left to happen, or a violation was found.
  bool step();
  // Every node's work has ended.
  bool over() const;
  // The scheduler has left or was killed.
  bool gone() const { return gone_; }

  Instant now() const { return now_; }
  // When step() is next; kNever when nothing is left to happen.
  Instant next_at() const { return queue_.empty() ? kNever : queue_.next_at(); }
  std::uint64_t events() const { return events_; }
  std::uint64_t trace_hash() const { return trace_hash_; }
  Findings& findings() { return findings_; }
  Network& network() { return network_; }
  const NetworkCounts& network_counts() const { return network_.counts(); }
  const ServerWatch& watch() const { return watch_; }
  const ShardWork& work() const { return work_; }
  const Workload& workload() const { return workload_; }
  const PatienceWatch& patience() const { return patience_; }
  const std::vector<std::unique_ptr<Process>>& processes() const { return processes_; }
  const Scheduler& scheduler() const { return *processes_[0]->scheduler; }

  // What faults are made of.
  void at(Instant when, std::function<void()> action);
  // At once when the run has come to its event of this number. In ascending order.
  void at_event(std::uint64_t number, std::function<void()> action);
  // A request of that data shard's program, which no node sees to, ends at that moment, unless the shard's
  // worker is gone by then.
  void end_request(Instant when, ShardId shard, std::shared_ptr<Completion> completion, Status how);
  void kill(std::uint32_t process);
  void pause(std::uint32_t process, Instant until);
  // With its observer; where `dark` its machine loses its power as well. Precondition: its state is kept.
  void kill_scheduler(bool dark);
  // Another one comes in its place, once its state can be read. Where one stands by, that is when it sees
  // that nobody leads.
  void restart_scheduler();
  // Whether that process is a scheduler in whose place another one leads.
  bool former(const Process& process) const { return process.scheduler != nullptr && process.place != 0; }
  // Of its calls to an etcd.
  StateCounts state_counts() const;
  // Whether its etcd has become what it was before, and whether the scheduler has ended because of that.
  bool went_back() const;
  bool refused() const;
  // Whether whatever the scheduler knows is kept.
  bool settled() const;
  void tell_lost(std::uint32_t process, NodeId peer);
  // Whoever started a process that was killed tells the scheduler.
  void tell_dead(std::uint32_t process);
  std::uint32_t start_worker(Duration turn, bool observer = false);
  std::uint32_t start_server();
  void end_faults();
  // The scheduler gives ranges of a table to another server; false where it does not.
  bool place(TableId table, RangeSpan ranges, std::uint32_t server);
  // The answer to a question of a process that takes no part; empty where the scheduler has no turn now.
  std::optional<Frame> ask_scheduler(const Frame& question);
  // A range that one process has given up and another one awaits.
  struct Offer {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    TableId table;
    RangeId range;
  };
  std::vector<Offer> offers() const;
  // Whether some server has yet to learn of, to give up or to get what it was given.
  bool moving() const;
  void hand_over(const Offer& offer);
  void ask_to_stop();
  // The job ends at once.
  void end(const Status& status);
  // Every other node's driver finds that the scheduler is lost.
  void tell_all_of_scheduler(Instant when);
  void note(std::string_view what);
  // `say()`: what it would be, which nobody puts together where nobody reads it.
  template <std::invocable Say>
  void note(const Say& say) {
    if (trace_) note(std::string_view(say()));
  }

  // All rows of a table, state included, over all servers in ascending key order; killed ones as they died.
  Contents contents(TableId table) const;

 private:
  bool is_with_a_dead_one(const wire::Map& map, TableId table, RangeSpan ranges) const;
  class Outgoing;
  struct Mail {
    std::uint32_t to = 0;
    NodeId from;
    Frame frame;
    std::vector<std::byte> damaged;  // See Network::Arrival.
    Link link;
    std::uint32_t connection = 0;       // Kept nodes' signs of life do not depend on theirs.
    RoomLinks::Passage passage{};       // Of a frame in the room.
    const Process* receiver = nullptr;  // Not in the room: who has that place, or had it as this was sent.
    std::uint64_t life = 0;             // Of the receiver then.
  };
  static constexpr std::uint32_t kAnyConnection = ~0u;

  std::uint32_t add(NodeId id, std::unique_ptr<Node> node, Duration turn);
  void start_scheduler();
  SchedulerOptions scheduler_options();
  bool open_state();
  void on_etcd_back();
  void forget_unheard();
  void note_received(const Process& process, const Frame& frame);
  bool comes_again();
  void keep_state(Process& process);
  void take_up();
  std::vector<std::string> scheduler_addresses() const;
  void stand_by();
  bool take_lease();
  void lead_by_lease(Process& process);
  void keep_lease(Process& process);
  void step_aside();
  void on_replaced(Process& process);
  void kill_observers();
  void look_for_scheduler(Process& node, std::string_view address);
  // The one that does, as far as its state tells.
  static bool leads(const Process& process) { return process.scheduler != nullptr && process.place == 0; }
  bool replaced(const Process& process) const;
  const Process* receiver_of(const Process& from, NodeId to) const;
  bool connected(const Process& scheduler, const Process& node) const;
  NodeClock draw_clock();
  void watch_kept(const Frame& frame);
  void watch_map(const Process& scheduler, const Frame& frame);
  void watch_former(const Process& process, const Frame& frame);
  void scheduler_turn(Process& process, Transport& out,
                      const std::function<void(Scheduler&, Instant, Transport&)>& act);
  void complete_later(const TakenCheckpoint& taken);
  void deliver(std::uint32_t slot);
  bool survives(Mail& mail);
  void give_up_unwelcomed(std::uint32_t process);
  void by_driver(std::uint32_t process, std::function<void(Process&, Instant local, Transport&)> turn);
  void await_all(Process& process);
  void begin_turn(Process& process);
  void read_inbox(std::uint32_t process);
  void on_timer(std::uint32_t process);
  void begin_computing(Process& process);
  void compute_as_told(Process& process);
  void take_frame(Process& process, Mail mail);
  void after_turn(std::uint32_t place);
  void send(Process& from, NodeId to, Frame frame);
  void send_in_room(const Process& from, Link link, Frame frame);
  void carry(std::uint32_t slot);
  void watch_send(const Process& from, NodeId to, const Frame& frame);
  void record(const Process& process, const Mail* mail);

  struct SchedulerHome;

  const Plan& plan_;
  Findings findings_;
  Workload workload_;
  ShardWork work_;
  ServerWatch watch_;
  PatienceWatch patience_;
  Network network_;
  std::optional<RoomLinks> room_;
  std::unique_ptr<SchedulerHome> home_;  // Where the scheduler's state is kept.
  Trace trace_;
  Programs programs_;
  EventQueue queue_;
  Slots<Mail> mails_;
  Slots<std::function<void()>> actions_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<NodeId, std::uint32_t> directory_;
  const Frame* asked_ = nullptr;  // What the server whose turn it is was given.
  std::vector<Network::Arrival> arrivals_;
  Instant now_{0};
  std::uint64_t events_ = 0;
  std::uint64_t trace_hash_ = 0;
  std::uint32_t births_ = 0;
  Random clocks_;
  Random computing_;
  bool gone_ = false;
  std::string missing_;  // Of those that are to join, and since when.
  Instant missing_since_{0};
  std::deque<std::pair<std::uint64_t, std::function<void()>>> at_events_;
};

// What a node sends in its turn.
class Cluster::Outgoing final : public Transport {
 public:
  Outgoing(Cluster& cluster, Process& process) : cluster_(cluster), process_(process) {}
  void send(NodeId to, Frame frame) override { cluster_.send(process_, to, std::move(frame)); }
  void introduce(NodeId node, std::string_view address) override {
    if (node == kScheduler) cluster_.look_for_scheduler(process_, address);
  }
  void rename_self(NodeId id, std::uint64_t) override {
    cluster_.directory_[id] = process_.place;
    process_.id = id;
  }

 private:
  Cluster& cluster_;
  Process& process_;
};

}  // namespace thalweg::sim
