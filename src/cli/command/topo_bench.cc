// topo bench: measures the link between two ranks of this machine and fits the model's two numbers to it,
// what its transports and cores take, and which routes are the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/options.h"
#include "cli/view/output.h"
#include "cli/work/local_ranks.h"
#include "cli/work/machine_meter.h"
#include "cli/work/measure/route_grid.h"
#include "exchange/costs/costs_file.h"
#include "topology/fit.h"
#include "topology/render.h"
#include "topology/units.h"

namespace thalweg {
namespace {

constexpr std::size_t kBytesMin = 64;
constexpr std::size_t kBytesMax = std::size_t{16} << 20;
constexpr int kRuns = 7;

// One way, from a round trip: the fastest of the runs' means, as others' work only adds to it.
Result<double> one_way_seconds(Group& group, std::span<std::byte> buffer, std::size_t bytes) {
  const std::span<float> data(static_cast<float*>(static_cast<void*>(buffer.data())), bytes / sizeof(float));
  const std::size_t trips = std::clamp<std::size_t>((std::size_t{8} << 20) / bytes, 4, 2000);
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    if (Status met = group.barrier(); !met.ok()) return met;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < 2 * trips; ++i) {
      const bool sends = (i % 2 == 0) == (group.rank() == 0);
      Status moved = sends ? group.send(std::span<const float>(data), 1 - group.rank())
                           : group.receive(data, 1 - group.rank());
      if (!moved.ok()) return moved;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double each = took.count() / static_cast<double>(2 * trips);
    best = run == 0 ? each : std::min(best, each);
  }
  return best;
}

Status measure_link(Group& group, std::vector<Sample>& samples) {
  Result<std::span<std::byte>> buffer = group.allocate<std::byte>(kBytesMax);
  if (!buffer) return buffer.status();
  for (std::size_t bytes = kBytesMin; bytes <= kBytesMax; bytes *= 4) {
    Result<double> seconds = one_way_seconds(group, *buffer, bytes);
    if (!seconds) return seconds.status();
    samples.push_back({static_cast<double>(bytes), *seconds});
  }
  return ok_status();
}

Status write_file(const std::string& path, const std::string& text, Output& out) {
  NewFile file(path);
  if (Status written = file.write(text); !written.ok()) return written;
  if (Status committed = file.commit(); !committed.ok()) return committed;
  out.note(fmt::format("wrote {}", path));
  return ok_status();
}

Result<MachineCosts> measure_costs() {
  MachineCosts costs;
  for (const auto& [transport, of] :
       {std::pair{"shm", &costs.shared_memory}, std::pair{"tcp", &costs.loopback}}) {
    const Result<TransportCosts> measured = measure_transport(transport);
    if (!measured) return measured.status();
    *of = *measured;
  }
  measure_core(costs);
  return costs;
}

nlohmann::ordered_json show_costs(const MachineCosts& costs, Output& out) {
  out.human(fmt::format("\n{:<14} {:>12} {:>12} {:>12}\n", "transport", "latency us", "message us", "GB/s"));
  for (const auto& [name, of] :
       {std::pair{"shared memory", costs.shared_memory}, std::pair{"loopback TCP", costs.loopback}}) {
    out.human(fmt::format("{:<14} {:>12.2f} {:>12.2f} {:>12.2f}\n", name, of.latency_seconds * 1e6,
                          of.message_seconds * 1e6, of.bytes_per_second * 1e-9));
  }
  out.human(fmt::format(
      "a core adds {:.1f} GB/s, and fetches what has left its {:.1f} MB cache in {:.3f} ns a byte\n",
      1e-9 / std::max(costs.add_seconds_per_byte, 1e-15), costs.cache_bytes * 1e-6,
      costs.fetch_seconds_per_byte * 1e9));
  nlohmann::ordered_json object;
  each_cost(costs,
            [&object](const char* part, const char* key, double value, auto) { object[part][key] = value; });
  return object;
}

// Of --routes: none where it was not given.
Result<std::optional<RouteGrid>> read_grid(const Options& options) {
  constexpr std::uint32_t kRanksMax = 64;
  constexpr std::size_t kNumbersMax = 8;
  const std::optional<std::string> text = options.maybe_text("routes");
  if (!text) {
    if (options.origin("routes-limit") < Origin::kFlag) return std::optional<RouteGrid>();
    return Status(Code::kUsage, "--routes-limit has no meaning without --routes, which measures routes");
  }
  RouteGrid grid;
  const char *at = text->data(), *const end = at + text->size();
  for (bool more = true; more;) {
    std::uint32_t ranks = 0;
    const auto [behind, error] = std::from_chars(at, end, ranks);
    more = behind < end && *behind == ',';
    if (error != std::errc() || (behind < end && !more) || ranks < 2 || ranks > kRanksMax ||
        grid.ranks.size() == kNumbersMax) {
      return Status(
          Code::kUsage,
          fmt::format(
              "--routes '{}': expected numbers of ranks from 2 to {}, such as 2,4; at most {} of them", *text,
              kRanksMax, kNumbersMax));
    }
    if (std::ranges::find(grid.ranks, ranks) == grid.ranks.end()) grid.ranks.push_back(ranks);
    at = behind + (more ? 1 : 0);
  }
  grid.limit = options.duration("routes-limit");
  grid.in_group_memory = options.choice("bench-memory").word == "group";
  return std::optional(std::move(grid));
}

class ShownRoutes {
 public:
  explicit ShownRoutes(Output& out) : out_(out) {}

  void add(const MeasuredPoint& point, const std::vector<TimedRoute>& timed) {
    const TimedRoute &first = timed.front(), &second = timed[timed.size() > 1 ? 1 : 0];
    const char* const transport = point.shares_memory ? "shm" : "tcp";
    const char* const operation = operation_name(point.operation);
    if (rows_.empty())
      out_.human(fmt::format("\n{:<9} {:>5} {:<15}{:>10}  {:<20}{:>8} {:>12}  {:<20}{:>12}\n", "transport",
                             "ranks", "operation", "bytes", "route", "piece", "us", "second", "us"));
    out_.human(fmt::format("{:<9} {:>5} {:<15}{:>10}  {:<20}{:>8} {:>12.2f}  {:<20}{:>12.2f}\n", transport,
                           point.ranks, operation, point.bytes, first.name, first.piece_bytes,
                           first.seconds * 1e6, second.name, second.seconds * 1e6));
    rows_.push_back({{"transport", transport},
                     {"ranks", point.ranks},
                     {"operation", operation},
                     {"bytes", point.bytes},
                     {"route", first.name},
                     {"piece_bytes", first.piece_bytes},
                     {"seconds", first.seconds},
                     {"second", second.name},
                     {"second_seconds", second.seconds}});
  }
  const nlohmann::ordered_json& rows() const { return rows_; }

 private:
  Output& out_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

// The fastest route of each point that there is time for.
Result<nlohmann::ordered_json> measure_grid(const RouteGrid& grid, MeasuredRoutes& routes, Output& out) {
  out.note(fmt::format("timing all routes at {} points, for at most {} s", grid.points(),
                       std::chrono::duration_cast<std::chrono::seconds>(grid.limit).count()));
  ShownRoutes shown(out);
  Status failed;
  const Status measured =
      measure_routes(grid, [&](const MeasuredPoint& point, const std::vector<TimedRoute>& timed) {
        Result<Plan> plan = measured_plan(timed.front().name, point);
        if (!plan) failed = plan.status();
        if (!plan || !routes.add(point, {*std::move(plan), timed.front().piece_bytes})) return;
        shown.add(point, timed);
      });
  if (!measured.ok()) return measured;
  if (!failed.ok()) return failed;
  const std::size_t left = grid.points() - routes.all().size();
  if (left > 0)
    out.warn(
        fmt::format("{} points were left when time was over; a greater --routes-limit measures them", left));
  return shown.rows();
}

Status run_topo_bench(const Options& options, Output& out) {
  if (options.origin("room-ranks") == Origin::kFlag && !options.has("room"))
    return {Code::kUsage, "--ranks is of the room that --room FILE writes; expected both, or neither"};
  const Result<std::optional<RouteGrid>> grid = read_grid(options);
  if (!grid) return grid.status();
  const std::string transport = options.choice("link-transport").word;
  std::vector<Sample> samples;
  const Status measured = run_local_ranks(2, transport, [&samples](Group& group) {
    std::vector<Sample> seen;
    Status status = measure_link(group, seen);
    if (group.rank() == 0) samples = std::move(seen);
    return status;
  });
  if (!measured.ok()) return measured;
  const Result<LinkFit> fit = fit_link(samples);
  if (!fit) return fit.status();

  const double latency_seconds = static_cast<double>(fit->speed.latency_ns) * 1e-9;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  out.human(fmt::format("{:>10} {:>12} {:>10} {:>12}\n", "bytes", "one way us", "GB/s", "model us"));
  for (const Sample& sample : samples) {
    const double model = latency_seconds + sample.bytes / fit->speed.bytes_per_second;
    out.human(fmt::format("{:>10.0f} {:>12.2f} {:>10.2f} {:>12.2f}\n", sample.bytes, sample.seconds * 1e6,
                          sample.bytes / sample.seconds * 1e-9, model * 1e6));
    rows.push_back({{"bytes", sample.bytes}, {"seconds", sample.seconds}, {"model_seconds", model}});
  }
  out.human(fmt::format("latency {}, bandwidth {}; the model is off by {:.0f} % at the median\n",
                        latency_text(fit->speed.latency_ns), bandwidth_text(fit->speed.bytes_per_second),
                        fit->error * 100));
  const Result<MachineCosts> costs = measure_costs();
  if (!costs) return costs.status();
  MachineFigures figures{*costs, {}};
  nlohmann::ordered_json result = {{"transport", transport},
                                   {"latency_seconds", latency_seconds},
                                   {"bytes_per_second", fit->speed.bytes_per_second},
                                   {"median_error", fit->error},
                                   {"samples", rows},
                                   {"costs", show_costs(*costs, out)}};
  if (grid->has_value()) {
    const auto routes = measure_grid(**grid, figures.routes, out);
    if (!routes) return routes.status();
    result["routes"] = *routes;
    result["points_left"] = (*grid)->points() - routes->size();
  }
  out.json(result);
  if (const auto file = options.maybe_text("costs-out")) {
    if (Status written = write_file(*file, to_toml(figures), out); !written.ok()) return written;
  }
  const auto path = options.maybe_text("room");
  if (!path) return ok_status();
  const auto ranks = static_cast<std::uint32_t>(options.integer("room-ranks"));
  return write_file(*path, to_toml(measured_room("this-machine", ranks, fit->speed)), out);
}

}  // namespace

extern constinit const Command kTopoBenchCommand = {
    .path = "topo bench",
    .summary =
        "Measure the link between two ranks of this machine, what its transports and cores take, and which "
        "routes are fastest",
    .example = "thalweg topo bench --routes 2,4 --costs costs.toml",
    .run = run_topo_bench,
    .options = {"link-transport|room|room-ranks|costs-out|routes|routes-limit|bench-memory"},
};

}  // namespace thalweg
