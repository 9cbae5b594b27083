// topo show.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command/command.h"
#include "cli/new_file.h"
#include "cli/options/options.h"
#include "cli/options/room_input.h"
#include "cli/view/drawing.h"
#include "cli/view/output.h"
#include "topology/packing.h"
#include "topology/render.h"
#include "topology/rings.h"
#include "topology/units.h"

namespace thalweg {
namespace {

constexpr std::size_t kRowsShown = 100;         // Of nodes, and of links.
constexpr std::uint32_t kDrawnNodesMax = 2000;  // Beyond it a picture shows nothing and takes minutes.
constexpr std::uint32_t kPackedRanksMax = 64;
constexpr Level kAllLevels[] = {Level::kMachine, Level::kRack, Level::kSite};

// How direct cables can be used together; empty where there are none.
struct Packings {
  std::vector<WeightedRing> rings;
  TreePacking trees;
};

Packings find_packings(const Topology& room) {
  const std::uint32_t ranks = room.rank_count();
  const std::vector<CapacityEdge> edges = direct_edges(room);
  Packings packings;
  if (edges.empty() || ranks > kPackedRanksMax) return packings;
  if (auto rings = find_rings(ranks, edges)) packings.rings = *std::move(rings);
  if (auto trees = pack_trees(ranks, edges)) packings.trees = *std::move(trees);
  return packings;
}

std::string both(const std::string& there, const std::string& back) {
  return there == back ? there : there + " | " + back;
}

std::string levels_text(const Topology& room) {
  const std::vector<std::uint32_t> levels = room.even_levels();
  std::string text;
  for (const std::uint32_t size : levels) text += fmt::format("{}{}", text.empty() ? "" : " x ", size);
  for (const Level level : kAllLevels) {
    if (const std::uint32_t count = room.place_count(level); count > 0) {
      text += fmt::format("; {} {}{}", count, level_name(level), count == 1 ? "" : "s");
    }
  }
  return text;
}

std::string node_row(const Topology& room, NodeIndex index, std::uint32_t endpoint) {
  const RoomNode& node = room.node(index);
  const std::uint32_t ranks = room.rank_count();
  const std::string role = endpoint < ranks                   ? fmt::format("rank {}", endpoint)
                           : endpoint < room.endpoint_count() ? fmt::format("spare {}", endpoint)
                                                              : "";
  std::string row = fmt::format("  {:<8}{:<14}{:<10}", kind_name(node.kind), node.name, role);
  for (const Level level : kAllLevels) {
    const std::uint32_t place = node.place[static_cast<std::size_t>(level)];
    if (place != kNowhere) row += fmt::format(" {} {:<3}", level_name(level), place);
  }
  return row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
}

std::string cable_row(const Topology& room, LinkIndex there) {
  const DirectedLink &a = room.link(there), &b = room.link(there ^ 1u);
  return fmt::format("  {:<30} {:<22} {}{}\n", room.node(a.from).name + " - " + room.node(a.to).name,
                     both(bandwidth_text(a.bytes_per_second), bandwidth_text(b.bytes_per_second)),
                     both(latency_text(a.latency_ns), latency_text(b.latency_ns)),
                     a.queue == b.queue ? "  shared by both directions" : "");
}

std::vector<std::uint32_t> endpoint_of_nodes(const Topology& room) {
  std::vector<std::uint32_t> endpoints(room.node_count(), kNowhere);
  for (std::uint32_t i = 0; i < room.endpoint_count(); ++i) endpoints[room.endpoint_node(i)] = i;
  return endpoints;
}

std::string room_words(const Topology& room, const Packings& packings) {
  const std::uint32_t cables = room.link_count() / 2;
  std::string text = fmt::format("{}: {} ranks, {} spare endpoints, {} nodes, {} cables\nlevels: {}\nnodes\n",
                                 room.name(), room.rank_count(), room.endpoint_count() - room.rank_count(),
                                 room.node_count(), cables, levels_text(room));
  const std::vector<std::uint32_t> endpoints = endpoint_of_nodes(room);
  for (NodeIndex i = 0; i < room.node_count() && i < kRowsShown; ++i) text += node_row(room, i, endpoints[i]);
  if (room.node_count() > kRowsShown) text += fmt::format("  ... {} more\n", room.node_count() - kRowsShown);
  text += "links, each way\n";
  for (LinkIndex i = 0; i < cables && i < kRowsShown; ++i) text += cable_row(room, 2 * i);
  if (cables > kRowsShown) text += fmt::format("  ... {} more\n", cables - kRowsShown);
  if (!packings.rings.empty()) text += "rings over direct links\n";
  for (const WeightedRing& ring : packings.rings) {
    text += fmt::format("  {:<10} {}\n", bandwidth_text(ring.weight), fmt::join(ring.order, "-"));
  }
  if (!packings.trees.trees.empty()) {
    text += fmt::format("trees over direct links\n  {:<10} with {} of them\n",
                        bandwidth_text(packings.trees.rate), packings.trees.trees.size());
  }
  return text;
}

nlohmann::ordered_json room_json(const Topology& room, const Packings& packings) {
  using Json = nlohmann::ordered_json;
  Json nodes = Json::array(), links = Json::array(), rings = Json::array(), trees = Json::array();
  const std::vector<std::uint32_t> endpoints = endpoint_of_nodes(room);
  for (NodeIndex i = 0; i < room.node_count(); ++i) {
    const RoomNode& node = room.node(i);
    Json row{{"name", node.name}, {"kind", kind_name(node.kind)}};
    if (endpoints[i] < room.endpoint_count()) row["endpoint"] = endpoints[i];
    for (const Level level : kAllLevels) {
      const std::uint32_t place = node.place[static_cast<std::size_t>(level)];
      if (place != kNowhere) row[level_name(level)] = place;
    }
    nodes.push_back(std::move(row));
  }
  for (LinkIndex i = 0; i < room.link_count(); ++i) {
    const DirectedLink& link = room.link(i);
    links.push_back({{"from", room.node(link.from).name},
                     {"to", room.node(link.to).name},
                     {"bytes_per_second", link.bytes_per_second},
                     {"latency_ns", link.latency_ns},
                     {"queue", link.queue}});
  }
  for (const WeightedRing& ring : packings.rings) {
    rings.push_back({{"bytes_per_second", ring.weight}, {"order", ring.order}});
  }
  for (const PackedTree& tree : packings.trees.trees) {
    trees.push_back({{"bytes_per_second", tree.weight}, {"root", tree.root}, {"parent", tree.parent}});
  }
  return {{"name", room.name()},
          {"ranks", room.rank_count()},
          {"endpoints", room.endpoint_count()},
          {"levels", room.even_levels()},
          {"nodes", nodes},
          {"links", links},
          {"rings", rings},
          {"trees", trees},
          {"tree_bytes_per_second", packings.trees.rate}};
}

Status write_svg(const Topology& room, const std::string& path) {
  if (room.node_count() > kDrawnNodesMax) {
    return {Code::kUsage,
            fmt::format("a picture of {} nodes; expected at most {}: ask for fewer with --ranks",
                        room.node_count(), kDrawnNodesMax)};
  }
  const Result<std::string> picture = drawn_by(graphviz_svg(), to_dot(room.room()));
  if (!picture) return picture.status();
  NewFile file(path);
  if (Status status = file.write(*picture); !status.ok()) return status;
  return file.commit();
}

Status run_topo_show(const Options& options, Output& out) {
  const auto ranks = static_cast<std::uint32_t>(options.maybe_integer("ranks").value_or(0));
  const Result<Topology> room = open_room(options.arguments()[0], ranks);
  if (!room) return room.status();
  if (const auto path = options.maybe_text("svg")) {
    if (Status status = check_picture_name("--svg", *path, false); !status.ok()) return status;
    if (Status status = write_svg(*room, *path); !status.ok()) return status;
    out.note(fmt::format("wrote {}", *path));
  }
  const std::string& format = options.choice("room-format").word;
  if (format == "toml") out.human(to_toml(room->room()));
  if (format == "dot") out.human(to_dot(room->room()));
  if (format == "text" || out.style().json) {
    const Packings packings = find_packings(*room);
    if (format == "text") out.human(room_words(*room, packings));
    out.json(room_json(*room, packings));
  }
  return ok_status();
}

}  // namespace

extern constinit const Command kTopoShowCommand = {
    .path = "topo show",
    .summary = "Show the nodes, links and levels of a machine room, or draw it",
    .example = "thalweg topo show dgx1v",
    .run = run_topo_show,
    .options = {"ranks|svg|room-format"},
    .arguments = "FILE-OR-PRESET",
    .arguments_min = 1,
    .arguments_max = 1,
};

}  // namespace thalweg
