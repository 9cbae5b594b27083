#include "topology/render.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "topology/units.h"

namespace thalweg {
namespace {

constexpr Level kAllLevels[] = {Level::kMachine, Level::kRack, Level::kSite};

// In double quotes as both TOML and Graphviz read it.
std::string quoted(const std::string& text) {
  std::string escaped = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return escaped + '"';
}

std::string speed_table(const LinkSpeed& speed) {
  return fmt::format("{{ bandwidth = \"{}B/s\", latency = \"{}ns\" }}", speed.bytes_per_second,
                     speed.latency_ns);
}

const char* shape(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDevice:
      return "box";
    case NodeKind::kHost:
      return "hexagon";
    case NodeKind::kNic:
      return "cds";
    case NodeKind::kSwitch:
      break;
  }
  return "ellipse";
}

class DotWriter {
 public:
  explicit DotWriter(const Room& room) : room_(room) {}

  std::string write() {
    text_ = fmt::format(
        "graph {} {{\n  layout=dot; rankdir=LR; node [fontname=\"sans-serif\", fontsize=11];\n"
        "  edge [fontname=\"sans-serif\", fontsize=9];\n",
        quoted(room_.name));
    std::vector<NodeIndex> all;
    for (NodeIndex i = 0; i < room_.nodes.size(); ++i) all.push_back(i);
    write_nodes(all, kLevels);
    for (const Cable& cable : room_.cables) write_cable(cable);
    return text_ + "}\n";
  }

 private:
  // Those of one place at the levels above `levels`, in boxes by their places below.
  void write_nodes(const std::vector<NodeIndex>& nodes, std::size_t levels) {
    if (levels == 0) {
      for (const NodeIndex i : nodes) {
        const RoomNode& node = room_.nodes[i];
        text_ += fmt::format("  n{} [label={}, shape={}];\n", i, quoted(node.name), shape(node.kind));
      }
      return;
    }
    const std::size_t level = levels - 1;
    std::map<std::uint32_t, std::vector<NodeIndex>> by_place;
    for (const NodeIndex i : nodes) by_place[room_.nodes[i].place[level]].push_back(i);
    for (const auto& [place, members] : by_place) {
      const bool boxed = place != kNowhere;
      const char* name = level_name(kAllLevels[level]);
      if (boxed) text_ += fmt::format("  subgraph cluster_{0}{1} {{ label=\"{0} {1}\";\n", name, place);
      write_nodes(members, level);
      if (boxed) text_ += "  }\n";
    }
  }

  void write_cable(const Cable& cable) {
    const std::string bandwidth =
        both(bandwidth_text(cable.forward.bytes_per_second), bandwidth_text(cable.back.bytes_per_second));
    const std::string latency =
        both(latency_text(cable.forward.latency_ns), latency_text(cable.back.latency_ns));
    text_ += fmt::format("  n{} -- n{} [label=\"{}\\n{}\"{}];\n", cable.a, cable.b, bandwidth, latency,
                         cable.shared ? ", style=dashed" : "");
  }

  static std::string both(const std::string& there, const std::string& back) {
    return there == back ? there : there + " | " + back;
  }

  const Room& room_;
  std::string text_;
};

}  // namespace

std::string to_toml(const Room& room) {
  std::string text = fmt::format("name = {}\n", quoted(room.name));
  for (const RoomNode& node : room.nodes) {
    text += fmt::format("\n[[node]]\nname = {}\nkind = \"{}\"\n", quoted(node.name), kind_name(node.kind));
    for (const Level level : kAllLevels) {
      const std::uint32_t place = node.place[static_cast<std::size_t>(level)];
      if (place != kNowhere) text += fmt::format("{0} = \"{0}{1}\"\n", level_name(level), place);
    }
  }
  for (const Cable& cable : room.cables) {
    text += fmt::format("\n[[link]]\nbetween = [{}, {}]\nforward = {}\nback = {}\n",
                        quoted(room.nodes[cable.a].name), quoted(room.nodes[cable.b].name),
                        speed_table(cable.forward), speed_table(cable.back));
    if (cable.shared) text += "shared = true\n";
  }
  return text;
}

std::string to_dot(const Room& room) { return DotWriter(room).write(); }

}  // namespace thalweg
