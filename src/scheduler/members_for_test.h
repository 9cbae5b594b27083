// A scheduler and those who join it, by hand.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/sent_frames_for_test.h"
#include "scheduler/scheduler.h"

namespace thalweg {

inline Frame join(Role role, bool observer = false) {
  return make_frame(Op::kJoin, encode(wire::Join{role, observer, "127.0.0.1:1", "test", "one", 4711}));
}

inline Frame heartbeat() { return make_frame(Op::kHeartbeat, encode(wire::Heartbeat{})); }

inline NodeId temporary(std::uint32_t number) { return {Role::kWorker, (1u << 31) | number}; }

inline void begin_with_three_servers(Scheduler& scheduler, SentFrames& out) {
  for (std::uint32_t n = 0; n < 4; ++n)
    scheduler.on_frame({}, temporary(n), join(n < 3 ? Role::kServer : Role::kWorker), out);
  for (std::uint32_t n = 0; n < 4; ++n)
    scheduler.on_frame({}, n < 3 ? server_node(n) : worker_node(0), heartbeat(), out);
  ASSERT_TRUE(scheduler.started());
}

// One server, two workers and four data shards.
struct Cluster {
  explicit Cluster(bool start = true) {
    SchedulerOptions options;
    options.workers = 2;
    options.shards = 4;
    TableSpec table;
    table.name = "t";
    options.tables = {table};
    options.observer = temporary(100);
    options.on_report = [this](ShardId shard, ReportId number, std::string_view text) {
      reports.push_back(std::to_string(shard.value) + "." + std::to_string(number.index) + " " +
                        std::string(text));
    };
    options.on_event = [this](const std::string& text) { events.push_back(text); };
    scheduler.emplace(std::move(options));
    if (!start) return;
    tell(temporary(1), join(Role::kServer));
    tell(temporary(2), join(Role::kWorker));
    tell(temporary(3), join(Role::kWorker));
    for (const NodeId member : {server_node(0), worker_node(0), worker_node(1)}) tell(member, heartbeat());
  }
  std::vector<std::pair<NodeId, Frame>> tell(NodeId from, Frame frame) {
    scheduler->on_frame(now, from, std::move(frame), out);
    return out.take();
  }
  NodeId name(NodeId from, Frame frame) {
    for (const auto& [to, sent] : tell(from, std::move(frame))) {
      if (sent.head.op == Op::kWelcome && to == from) return wire::decode_welcome(sent.first)->id;
    }
    return kScheduler;
  }
  // The newest map, as a member's heartbeat with an old one brings it.
  wire::Map map() {
    for (const auto& [to, sent] : tell(worker_node(1), make_frame(Op::kGetMap))) {
      if (sent.head.op == Op::kMap) return *wire::decode_map(sent.first);
    }
    return {};
  }

  Instant now{};
  SentFrames out;
  std::vector<std::string> reports;
  std::vector<std::string> events;
  std::optional<Scheduler> scheduler;
};

// Some servers and one worker; begun.
struct BegunJob {
  // Tables of so many ranges each.
  BegunJob(std::uint32_t servers, std::uint32_t replicas, Consistency consistency,
           const std::vector<std::uint16_t>& ranges)
      : scheduler(options(servers, replicas, consistency, ranges)) {
    for (std::uint32_t n = 0; n <= servers; ++n) {
      scheduler.on_frame({}, temporary(n), join(n < servers ? Role::kServer : Role::kWorker), out);
      scheduler.on_frame({}, n < servers ? server_node(n) : worker_node(0), heartbeat(), out);
    }
    out.take();
  }
  const Placement& placement() const { return scheduler.map().placement[0]; }
  void say_joined(std::uint32_t server) {
    wire::Joined message;
    for (std::uint16_t t = 0; t < scheduler.map().placement.size(); ++t) {
      for (const PlacedRun& run : scheduler.map().placement[t].joined_by(server))
        message.runs.push_back({TableId{t}, run.ranges, run.joining});
    }
    scheduler.on_frame(now, server_node(server), make_frame(Op::kJoined, encode(message)), out);
  }

  Instant now{};
  SentFrames out;
  std::vector<std::string> events;
  Scheduler scheduler;

 private:
  SchedulerOptions options(std::uint32_t servers, std::uint32_t replicas, Consistency consistency,
                           const std::vector<std::uint16_t>& ranges) {
    SchedulerOptions job;
    job.servers = servers;
    job.replicas = replicas;
    job.consistency = consistency;
    for (const std::uint16_t of_table : ranges) {
      TableSpec& table = job.tables.emplace_back();
      table.name = "t" + std::to_string(job.tables.size());
      table.ranges = of_table;
    }
    job.on_event = [this](const std::string& event) { events.push_back(event); };
    return job;
  }
};

}  // namespace thalweg
