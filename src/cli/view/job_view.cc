#include "cli/view/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace thalweg {
namespace {

using nlohmann::ordered_json;

double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
double ms_of(std::chrono::nanoseconds time) { return 1e3 * seconds_of(time); }

std::string_view role_of(NodeId node, bool observer) {
  switch (node.role) {
    case Role::kScheduler:
      return "scheduler";
    case Role::kServer:
      return "server";
    case Role::kWorker:
      return observer ? "observer" : "worker";
  }
  return "?";
}

std::string_view state_name(NodeState state) {
  switch (state) {
    case NodeState::kJoining:
      return "joining";
    case NodeState::kAlive:
      return "alive";
    case NodeState::kLost:
      return "lost";
    case NodeState::kLeaving:
      return "leaving";
    case NodeState::kLeft:
      return "left";
  }
  return "?";
}

std::string_view event_name(JobEvent::Kind kind) {
  switch (kind) {
    case JobEvent::Kind::kJoined:
      return "joined";
    case JobEvent::Kind::kBegan:
      return "began";
    case JobEvent::Kind::kLost:
      return "lost";
    case JobEvent::Kind::kPromoted:
      return "promoted";
    case JobEvent::Kind::kReassigned:
      return "reassigned";
    case JobEvent::Kind::kRecovered:
      return "recovered";
    case JobEvent::Kind::kCopied:
      return "copied";
    case JobEvent::Kind::kEnded:
      return "ended";
    case JobEvent::Kind::kDraining:
      return "draining";
    case JobEvent::Kind::kLeft:
      return "left";
    case JobEvent::Kind::kStays:
      return "stays";
    case JobEvent::Kind::kShared:
      return "shared";
    case JobEvent::Kind::kResumed:
      return "resumed";
  }
  return "?";
}

bool is_observer(const JobStatus& status, NodeId node) {
  return std::ranges::any_of(status.nodes,
                             [&](const JobNode& known) { return known.id == node && known.observer; });
}

// The observer's number is for the protocol: there is one of it.
std::uint32_t index_of(NodeId node, bool observer) { return observer ? 0 : node.index; }

std::string name_of(NodeId node, bool observer) {
  const std::string_view role = role_of(node, observer);
  const bool single = observer || node.role == Role::kScheduler;
  return single ? std::string(role) : fmt::format("{}-{}", role, node.index);
}

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

// A training numbers a pass's reports 2 * pass of its steps, and one more of its held-out rows.
struct TrainPlace {
  explicit TrainPlace(ReportId id) : pass(id.epoch / 2 + 1), step(id.index), held_out(id.epoch % 2 == 1) {}
  std::uint32_t pass, step;
  bool held_out;
};

ordered_json place_json(ReportId reported) {
  const TrainPlace place(reported);
  return {{"pass", place.pass}, {"step", place.step}, {"held_out", place.held_out}};
}

std::string place_text(ReportId reported) {
  const TrainPlace place(reported);
  return fmt::format("pass {} {} {}", place.pass, place.held_out ? "held-out part" : "step", place.step);
}

}  // namespace

ordered_json failovers_json(const std::vector<ServerFailover>& failovers) {
  ordered_json all = ordered_json::array();
  for (const ServerFailover& lost : failovers) {
    ordered_json one = {{"server", lost.server}, {"detected_ms", ms_of(lost.detected)}};
    one["recovered_ms"] = lost.recovered ? ordered_json(ms_of(*lost.recovered)) : ordered_json(nullptr);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json status_json(const JobStatus& status) {
  ordered_json nodes = ordered_json::array();
  for (const JobNode& node : status.nodes) {
    ordered_json one = {{"role", role_of(node.id, node.observer)},
                        {"index", index_of(node.id, node.observer)}};
    one["pid"] = node.pid != 0 ? ordered_json(node.pid) : ordered_json(nullptr);
    one["address"] = or_null(node.address);
    one["state"] = state_name(node.state);
    nodes.push_back(std::move(one));
  }
  ordered_json stragglers = ordered_json::array();
  for (const Straggler& late : status.stragglers) {
    ordered_json one = {{"shard", late.shard.value}, {"worker", late.worker}};
    one.update(place_json(late.reported));
    stragglers.push_back(std::move(one));
  }
  return {{"nodes", std::move(nodes)},
          {"waits_for", or_null(status.waits_for)},
          {"epoch", status.epoch},
          {"replicas", status.replicas},
          {"ranges", status.ranges},
          {"ranges_in_sync", status.ranges_in_sync},
          {"staleness", {{"fastest", place_json(status.fastest)}, {"slowest", place_json(status.slowest)}}},
          {"stragglers", std::move(stragglers)},
          {"failovers", failovers_json(status.failovers)},
          {"last_checkpoint", or_null(status.last_checkpoint)},
          {"seconds", seconds_of(status.age)}};
}

std::string status_text(const JobStatus& status) {
  std::string text = fmt::format("{:<14}{:<9}{:<9}{}\n", "node", "process", "state", "address");
  for (const JobNode& node : status.nodes) {
    text += fmt::format("{:<14}{:<9}{:<9}{}\n", name_of(node.id, node.observer),
                        node.pid != 0 ? std::to_string(node.pid) : "-", state_name(node.state),
                        node.address.empty() ? "-" : node.address);
  }
  if (!status.waits_for.empty())
    return text + fmt::format("waits for     {}, to begin\nrunning for   {:.1f} s\n", status.waits_for,
                              seconds_of(status.age));
  text += fmt::format("key ranges    {} of {} have all {} copies, by map {}\n", status.ranges_in_sync,
                      status.ranges, status.replicas, status.epoch);
  text += fmt::format("data shards   {} to {}", place_text(status.slowest), place_text(status.fastest));
  for (const Straggler& late : status.stragglers) {
    text += fmt::format("{}shard {} of worker-{}", &late == status.stragglers.data() ? "; behind: " : ", ",
                        late.shard.value, late.worker);
  }
  for (const ServerFailover& lost : status.failovers) {
    text += fmt::format("\nlost          server-{}, noticed after {:.1f} ms, {}", lost.server,
                        ms_of(lost.detected),
                        lost.recovered ? fmt::format("made good after {:.1f} ms more", ms_of(*lost.recovered))
                                       : "not made good yet");
  }
  return text + fmt::format("\ncheckpoint    {}\nrunning for   {:.1f} s\n",
                            status.last_checkpoint.empty() ? "none" : status.last_checkpoint,
                            seconds_of(status.age));
}

ordered_json drain_json(const ServerDrain& drain) {
  return {{"server", drain.server},
          {"ranges", drain.ranges},
          {"copied", drain.copied},
          {"to", drain.to},
          {"seconds", seconds_of(drain.took)}};
}

std::string drain_text(const ServerDrain& drain) {
  std::string names;
  for (const std::uint32_t server : drain.to)
    names += fmt::format("{}server-{}", names.empty() ? " to " : ", ", server);
  return fmt::format("server-{} has left in {:.3f} s: {} of its {} key ranges were copied{}\n", drain.server,
                     seconds_of(drain.took), drain.copied, drain.ranges, names);
}

ordered_json events_json(const JobStatus& status) {
  ordered_json events = ordered_json::array();
  for (const JobEvent& event : status.events) {
    const bool observer = is_observer(status, event.node);
    events.push_back({{"seconds", seconds_of(event.at)},
                      {"event", event_name(event.kind)},
                      {"role", role_of(event.node, observer)},
                      {"index", index_of(event.node, observer)},
                      {"cause", event.cause}});
  }
  return {{"events", std::move(events)}, {"forgotten", status.events_forgotten}};
}

std::string events_text(const JobStatus& status) {
  std::string text;
  if (status.events_forgotten > 0)
    text += fmt::format("{} earlier events are forgotten\n", status.events_forgotten);
  for (const JobEvent& event : status.events) {
    text += fmt::format("{:>10.3f} s  {:<11}{:<12}{}\n", seconds_of(event.at), event_name(event.kind),
                        name_of(event.node, is_observer(status, event.node)), event.cause);
  }
  return text;
}

}  // namespace thalweg
