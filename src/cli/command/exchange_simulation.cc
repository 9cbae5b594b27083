// simulate exchange.
#include "cli/command/exchange_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/options.h"
#include "cli/options/room_input.h"
#include "cli/options/sizes.h"
#include "cli/view/drawing.h"
#include "cli/view/exchange_plot.h"
#include "cli/view/output.h"
#include "exchange/plan/lower_bound.h"
#include "exchange/plan/planner.h"
#include "topology/presets.h"
#include "topology/units.h"

namespace thalweg {
namespace {

constexpr std::size_t kLinksShown = 16;
constexpr std::size_t kLinksInJson = 64;

std::vector<std::string> routes_of(const Options& options, const Topology& topology, const Demand& demand) {
  const std::string& text = options.text("route");
  if (text == "all") return all_routes(topology, demand);
  std::vector<std::string> routes;
  for (const std::string_view route : split(text, ',')) routes.emplace_back(route);
  return routes;
}

Result<SimulatedRow> simulate(const Topology& topology, const Demand& demand, const std::string& route,
                              const SimulateOptions& options) {
  Result<Layout> layout = route == "auto" ? choose_route(topology, demand) : lay_out(topology, demand, route);
  if (!layout) return layout.status();
  auto result = simulate_exchange(topology, demand, *layout, options);
  if (!result) return result.status();
  return SimulatedRow{layout->route, demand, lower_bound_seconds(topology, demand, *layout),
                      *std::move(result)};
}

// What --sharing, --message-cost, --reduce-rate and --no-check say.
Result<SimulateOptions> simulate_options(const Options& options) {
  SimulateOptions out{.check = !options.flag("no-check")};
  if (options.choice("sharing").word == "fair") out.sharing = Sharing::kFair;
  const auto cost = parse_latency(options.text("message-cost"));
  if (!cost) return Status(Code::kUsage, "--message-cost: " + cost.status().message());
  out.handling.message_seconds = out.handling.far_message_seconds = static_cast<double>(*cost) * 1e-9;
  if (const auto text = options.maybe_text("reduce-rate")) {
    const auto rate = parse_bandwidth(*text);
    if (!rate) return Status(Code::kUsage, "--reduce-rate: " + rate.status().message());
    out.handling.add_seconds_per_byte = 1 / *rate;
  }
  return out;
}

double busy_seconds(const Topology& topology, const SimulatedExchange& result, LinkIndex link) {
  return static_cast<double>(result.link_bytes[link]) / topology.link(link).bytes_per_second;
}

// Those that carry anything, the busiest first.
std::vector<LinkIndex> links_by_time(const Topology& topology, const SimulatedExchange& result) {
  std::vector<LinkIndex> order;
  for (LinkIndex i = 0; i < topology.link_count(); ++i) {
    if (result.link_bytes[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](LinkIndex a, LinkIndex b) {
    return busy_seconds(topology, result, a) > busy_seconds(topology, result, b);
  });
  return order;
}

nlohmann::ordered_json to_json(const Topology& topology, const SimulatedRow& row,
                               const SimulateOptions& options, bool all_links) {
  const SimulatedExchange& result = row.result;
  nlohmann::ordered_json object{{"route", row.route},
                                {"ranks", row.demand.ranks},
                                {"bytes", row.demand.bytes},
                                {"operation", operation_name(row.demand.operation)},
                                {"topology", topology.name()},
                                {"pipelined", row.demand.pipelined},
                                {"sharing", options.sharing == Sharing::kFair ? "fair" : "fifo"},
                                {"message_cost_seconds", options.handling.message_seconds},
                                {"reduce_seconds_per_byte", options.handling.add_seconds_per_byte},
                                {"time_seconds", result.seconds},
                                {"lower_bound_seconds", row.lower_bound},
                                {"max_rank_bytes_sent", result.max_rank_bytes_sent},
                                {"busiest_link", topology.link_name(result.busiest_link)},
                                {"busiest_link_bytes", result.link_bytes[result.busiest_link]},
                                {"busiest_link_seconds", result.busiest_seconds},
                                {"messages", result.messages},
                                {"events", result.events},
                                {"checked", result.checked}};
  const std::vector<LinkIndex> order = links_by_time(topology, result);
  nlohmann::ordered_json links = nlohmann::ordered_json::object();
  auto& entries =
      links.get_ref<nlohmann::ordered_json::object_t&>();  // Whose names need no search: they differ.
  for (std::size_t i = 0; i < order.size() && (all_links || i < kLinksInJson); ++i) {
    entries.push_back({topology.link_name(order[i]), result.link_bytes[order[i]]});
  }
  object["links"] = order.size();
  object["link_bytes"] = std::move(links);
  return object;
}

std::string table_head() {
  return fmt::format("{:<19}{:>7}{:>11}{:>14}{:>9}{:>12}  {:<32}{:>6}  {}\n", "route", "ranks", "bytes",
                     "time", "x bound", "most sent", "busiest link", "busy", "checked");
}

std::string table_row(const Topology& topology, const SimulatedRow& row) {
  const SimulatedExchange& result = row.result;
  const double ratio = row.lower_bound > 0 ? result.seconds / row.lower_bound : 1;
  const double busy = result.seconds > 0 ? result.busiest_seconds / result.seconds : 0;
  return fmt::format("{:<19}{:>7}{:>11}{:>14}{:>9.2f}{:>12}  {:<32}{:>5.0f}%  {}\n", row.route,
                     row.demand.ranks, size_text(row.demand.bytes), seconds_text(result.seconds), ratio,
                     size_text(result.max_rank_bytes_sent), topology.link_name(result.busiest_link),
                     100 * busy, result.checked ? "yes" : "no");
}

std::string link_table(const Topology& topology, const SimulatedExchange& result) {
  const std::vector<LinkIndex> order = links_by_time(topology, result);
  std::string text = "\nbusiest links\n";
  for (std::size_t i = 0; i < order.size() && i < kLinksShown; ++i) {
    text += fmt::format("  {:<32}{:>11}{:>14}\n", topology.link_name(order[i]),
                        size_text(result.link_bytes[order[i]]),
                        seconds_text(busy_seconds(topology, result, order[i])));
  }
  return text;
}

Status write_plot(const std::string& path, const Topology& topology, const std::vector<SimulatedRow>& rows) {
  NewFile file(path);
  const std::string picture =
      rows.size() == 1 ? gantt_svg(topology, rows[0]) : curves_svg(topology.name(), rows);
  if (Status status = file.write(picture); !status.ok()) return status;
  return file.commit();
}

// Runs every route on one room, which it returns.
Result<Topology> run_point(const Options& options, const Wanted& wanted, SimulateOptions how, Demand demand,
                           bool single, Output& out, std::vector<SimulatedRow>& rows) {
  const std::string& asked = options.text("route");
  auto topology = room_for(wanted.topology, asked == "all" || asked == "auto" ? "" : asked, demand);
  if (!topology) return topology.status();
  const std::vector<std::string> routes = routes_of(options, *topology, demand);
  how.record = single && routes.size() == 1 && options.has("plot");
  for (const std::string& route : routes) {
    const auto begin = std::chrono::steady_clock::now();
    auto row = simulate(*topology, demand, route, how);
    if (!row) return row.status();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    out.detail(fmt::format("{}: {} messages, {} events in {:.3f} s of real time", row->route,
                           row->result.messages, row->result.events, seconds));
    out.human((rows.empty() ? table_head() : "") + table_row(*topology, *row));
    if (single && routes.size() == 1) out.human(link_table(*topology, row->result));
    out.json(to_json(*topology, *row, how, options.choice("links").word == "all"));
    row->result.link_bytes.clear();
    rows.push_back(*std::move(row));
  }
  return topology;
}

}  // namespace

Result<Wanted> wanted_exchanges(const Options& options, const std::string& command) {
  Wanted wanted;
  wanted.topology = options.text("topology");
  wanted.pipelined = !options.flag("no-pipeline");
  const auto operation = parse_operation(options.text("op"));
  if (!operation) return operation.status();
  wanted.operation = *operation;
  auto bytes = parse_sizes(options.text(command + "-bytes"), "--bytes", 0);
  if (!bytes) return bytes.status();
  wanted.bytes = *std::move(bytes);
  if (const auto text = options.maybe_text(command + "-ranks")) {
    const auto ranks = parse_sizes(*text, "--ranks", 1);
    if (!ranks) return ranks.status();
    for (const std::uint64_t n : *ranks) {
      if (n > kPresetRanksMax) {
        return Status(Code::kUsage, fmt::format("--ranks {}; expected at most {}", n, kPresetRanksMax));
      }
      wanted.ranks.push_back(static_cast<std::uint32_t>(n));
    }
  } else {
    wanted.ranks.push_back(0);
  }
  return wanted;
}

Result<Topology> room_for(const std::string& name, const std::string& route, Demand& demand) {
  auto topology = open_room(name);
  if (!topology) return topology.status();
  std::uint32_t servers = 0;
  for (const std::string_view one : split(route, ',')) {
    if (const auto plan = parse_route(one)) servers = std::max(servers, plan->servers);
  }
  const std::uint32_t spare = topology->endpoint_count() - topology->rank_count();
  const std::uint32_t seats = servers - std::min(servers, spare);  // That only ranks' places can give.
  if (demand.ranks == 0) {
    demand.ranks = topology->rank_count() - std::min(seats, topology->rank_count() - 1);
    return topology;
  }
  const bool grows = is_preset(name), ideal = name.find(':') != name.npos;
  const std::uint32_t needed = demand.ranks + seats;
  if (!grows && needed > topology->rank_count()) {
    return Status(
        Code::kUsage,
        fmt::format("{} has {} ranks, and --ranks asks for {}{}; expected at most so many, or a preset", name,
                    topology->rank_count(), demand.ranks,
                    seats == 0 ? "" : fmt::format(", and the route for {} more as servers", seats)));
  }
  if (grows && (ideal ? needed > topology->rank_count() : needed != topology->rank_count())) {
    return open_room(name, needed);
  }
  return topology;
}

namespace {

Status run_simulate_exchange(const Options& options, Output& out) {
  const auto wanted = wanted_exchanges(options, "exchange");
  if (!wanted) return wanted.status();
  const auto how = simulate_options(options);
  if (!how) return how.status();
  const auto plot = options.maybe_text("plot");
  if (plot) {
    if (Status status = check_picture_name("--plot", *plot, false); !status.ok()) return status;
  }
  const bool single = wanted->ranks.size() == 1 && wanted->bytes.size() == 1;
  std::vector<SimulatedRow> rows;
  std::optional<Topology> last;
  for (const std::uint32_t ranks : wanted->ranks) {
    for (const std::uint64_t bytes : wanted->bytes) {
      const Demand demand{
          .operation = wanted->operation, .bytes = bytes, .ranks = ranks, .pipelined = wanted->pipelined};
      auto topology = run_point(options, *wanted, *how, demand, single, out, rows);
      if (!topology) return topology.status();
      last = *std::move(topology);
    }
  }
  if (!plot) return ok_status();
  if (Status status = write_plot(*plot, *last, rows); !status.ok()) return status;
  out.note(fmt::format("wrote {}", *plot));
  return ok_status();
}

}  // namespace

extern constinit const Command kSimulateExchangeCommand = {
    .path = "simulate exchange",
    .summary = "Run one exchange over simulated links and report its time and bytes",
    .example = "thalweg simulate exchange --topology pcie-box --route all --bytes 160M --no-pipeline",
    .run = run_simulate_exchange,
    .options = {kPlanOptions,
                "exchange-ranks|route|exchange-bytes|sharing|message-cost|reduce-rate|no-check|plot|links"},
};

}  // namespace thalweg
