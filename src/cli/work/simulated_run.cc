#include "cli/work/simulated_run.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "cli/options/memory_limit.h"
#include "cli/options/room_input.h"
#include "cli/options/sizes.h"
#include "cli/options/trainer_options.h"
#include "topology/presets.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kWorkers = 4;

struct NodeCounts {
  std::uint32_t servers = 1, workers = kWorkers;
};
NodeCounts node_counts(const Options& options) {
  return {static_cast<std::uint32_t>(options.maybe_integer("servers").value_or(1)),
          static_cast<std::uint32_t>(options.maybe_integer("workers").value_or(kWorkers))};
}

Duration duration_of(double seconds) {
  return Duration{static_cast<std::int64_t>(std::llround(seconds * 1e9))};
}

constexpr std::string_view kRoom = "simulated-room";

// Large enough where it may grow; whether it is, its seats tell.
Result<Topology> room_for_nodes(const std::string& name, std::uint32_t servers, std::uint32_t workers) {
  auto room = open_room(name);
  if (!room || !is_preset(name) || sim::take_seats(*room, servers, workers)) return room;
  for (const std::uint32_t ranks : {workers, workers + servers}) {
    auto larger = open_room(name, ranks);
    if (!larger || sim::take_seats(*larger, servers, workers)) return larger;
  }
  return room;
}

Status check_room_alone(const Options& options) {
  for (const char* name : {"latency", "bandwidth"}) {
    if (options.origin(name) == Origin::kDefault) continue;
    return {Code::kUsage, fmt::format("--room {} ({}) cannot be combined with --{} {} ({}): its links have "
                                      "their own",
                                      options.text(kRoom), options.place(kRoom), name,
                                      value_text(options.value(name)), options.place(name))};
  }
  return ok_status();
}

Status take_room(const Options& options, TrainSimulation& out) {
  const auto name = options.maybe_text(kRoom);
  if (!name) return ok_status();
  if (Status status = check_room_alone(options); !status.ok()) return status;
  const NodeCounts nodes = node_counts(options);
  auto room = room_for_nodes(*name, nodes.servers, nodes.workers);
  if (!room) return room.status();
  if (const auto seats = sim::take_seats(*room, nodes.servers, nodes.workers); !seats) return seats.status();
  out.room = std::make_shared<const Topology>(*std::move(room));
  return ok_status();
}

Result<double> bandwidth_in(const std::string& text) {
  const auto bytes = parse_size(text, "--bandwidth");
  if (!bytes) return bytes.status();
  if (*bytes > 0) return static_cast<double>(*bytes);
  return Status(Code::kUsage, "--bandwidth 0: expected bytes a second above 0; unset is no limit");
}

}  // namespace

Result<TrainerOptions> wanted_simulated_training(const Options& options) {
  const auto memory = memory_limit(options);
  if (!memory) return memory.status();
  TrainerOptions wanted = trainer_options(options, *memory);
  wanted.keep_best = false;
  wanted.keep_bad = true;
  const NodeCounts nodes = node_counts(options);
  wanted.workers = nodes.workers;
  wanted.servers = nodes.servers;
  if (wanted.algorithm.empty()) wanted.algorithm = "sync";
  if (!wanted.data_shards) wanted.data_shards = wanted.workers;
  return wanted;
}

Status check_simulation_option(std::string_view name, const std::string& text) {
  if (name == "compute") return sim::ComputeTime::parse(text).status();
  if (name == "straggler") return sim::Stragglers::parse(text).status();
  if (name == "bandwidth") return bandwidth_in(text).status();
  if (name == kRoom) return open_room(text).status();
  return ok_status();
}

Result<TrainSimulation> wanted_simulation(const Options& options) {
  TrainSimulation out;
  const auto compute = sim::ComputeTime::parse(options.text("compute"));
  if (!compute) return compute.status();
  out.compute = *compute;
  if (const auto text = options.maybe_text("straggler")) {
    const auto stragglers = sim::Stragglers::parse(*text);
    if (!stragglers) return stragglers.status();
    out.stragglers = *stragglers;
  }
  out.latency = duration_of(options.real("latency"));
  if (const auto text = options.maybe_text("bandwidth")) {
    const auto bandwidth = bandwidth_in(*text);
    if (!bandwidth) return bandwidth.status();
    out.bytes_per_second = *bandwidth;
  }
  out.stop_after = duration_of(options.maybe_real("stop-after").value_or(0));
  if (Status status = take_room(options, out); !status.ok()) return status;
  return out;
}

}  // namespace thalweg
