// Servers and clients of versioned values on one thread and virtual time, and what goes wrong with them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quorum/client.h"
#include "quorum/server.h"
#include "sim/event_queue.h"
#include "sim/findings.h"
#include "sim/network.h"
#include "sim/node_clock.h"
#include "sim/quorum/quorum_plan.h"
#include "sim/report.h"

namespace thalweg::sim {

class QuorumWorld {
 public:
  struct Counts {
    std::uint64_t crashes = 0, disks = 0, partitions = 0, pauses = 0;
  };

  QuorumWorld(const QuorumPlan& plan, Trace trace);
  QuorumWorld(const QuorumWorld&) = delete;

  // Sets the first fault and the end of all.
  void start();
  // The next event; false: there is none, or something was found.
  bool step();
  void at(Instant when, std::function<void()> action);
  // Runs `act` as a turn of a client, then says so if it has a result.
  void turn(std::uint32_t client, const std::function<void(quorum::Client&, Instant, Transport&)>& act);
  // Called after each turn of a client that has a result.
  std::function<void(std::uint32_t client, quorum::ClientResult)> on_result;

  Instant now() const { return now_; }
  bool healed() const { return healed_; }
  const QuorumPlan& plan() const { return plan_; }
  const quorum::VersionStore& store(std::uint32_t server) const { return *stores_[server]; }
  const HashRing& ring() const { return ring_; }
  // Of all servers' lives.
  const quorum::ServerCounts& served() const { return served_; }
  const Counts& counts() const { return counts_; }
  Findings& findings() { return findings_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t trace_hash() const { return trace_hash_; }
  // Adds up what servers that live have counted.
  void count_living();

 private:
  struct Process {
    NodeId id;
    std::unique_ptr<quorum::Server> server;  // Null: it is down, or a client.
    std::unique_ptr<quorum::Client> client;
    NodeClock clock;
    Instant paused_until{0};
    Instant armed = kNever;
    Node* node() const {
      return client != nullptr ? static_cast<Node*>(client.get()) : static_cast<Node*>(server.get());
    }
  };
  struct Mail {
    std::uint32_t to = 0;
    NodeId from;
    Frame frame;
    std::vector<std::byte> damaged;
  };
  // What a node sends in one turn.
  class Outgoing final : public Transport {
   public:
    Outgoing(QuorumWorld& world, std::uint32_t from) : world_(world), from_(from) {}
    void send(NodeId to, Frame frame) override { world_.send(from_, to, std::move(frame)); }
    void introduce(NodeId, std::string_view) override {}
    void rename_self(NodeId, std::uint64_t) override {}

   private:
    QuorumWorld& world_;
    std::uint32_t from_;
  };

  void start_server(std::uint32_t server);
  void add_client(std::uint32_t client);
  void send(std::uint32_t from, NodeId to, Frame frame);
  void deliver(std::uint32_t slot);
  void on_timer(std::uint32_t place);
  void after_turn(std::uint32_t place);
  void record(const Process& process, const Mail* mail);
  void note(std::string_view what);
  void count(const quorum::ServerCounts& counts);
  std::uint32_t place_of(NodeId id) const {
    return id.role == Role::kServer ? id.index : plan_.servers + id.index;
  }

  // quorum_faults.cc
  void next_fault();
  void strike();
  void partition();
  void crash(std::uint32_t victim);
  void restart(std::uint32_t server);
  void heal();
  Duration some_time();

  const QuorumPlan plan_;
  Trace trace_;
  Findings findings_;
  Network network_;
  Random random_;  // Of faults.
  Random clocks_;
  EventQueue queue_;
  Slots<Mail> mails_;
  Slots<std::function<void()>> actions_;
  std::vector<Network::Arrival> arrivals_;
  HashRing ring_;
  std::vector<std::unique_ptr<quorum::VersionStore>> stores_;  // Disks: they outlive servers.
  std::vector<std::uint32_t> lives_;
  std::vector<Process> processes_;  // Servers, then clients.
  std::uint32_t boots_ = 0;
  std::uint32_t disks_lost_ = 0;
  bool healed_ = false;
  Instant now_{0};
  std::uint64_t events_ = 0;
  std::uint64_t trace_hash_ = 0;
  Counts counts_;
  quorum::ServerCounts served_;
};

}  // namespace thalweg::sim
