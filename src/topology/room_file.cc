#include "topology/room_file.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "topology/name_pattern.h"
#include "topology/toml_reader.h"
#include "topology/units.h"

namespace thalweg {
namespace {

constexpr std::string_view kPlaceKeys[kLevels] = {"machine", "rack", "site"};

class RoomReader {
 public:
  explicit RoomReader(const std::string& source) : in_(source) {}

  Result<Topology> read(const toml::table& table) {
    in_.allow(table, "a room", {"name", "node", "link"});
    room_.name = in_.text(table, "name").value_or("room");
    each(table, "node", [&](const toml::table& node) { read_nodes(node); });
    check_places();
    each(table, "link", [&](const toml::table& link) { read_links(link); });
    check_ports();
    check_reachable();
    if (!in_.ok()) return in_.status();
    Result<Topology> topology = Topology::make(std::move(room_));
    if (!topology) in_.fail(table.source().begin, topology.status().message());
    if (!in_.ok()) return in_.status();
    return topology;
  }

 private:
  struct Origin {
    toml::source_position at;
    std::int64_t ports = 0;  // 0: any number.
    std::int64_t used = 0;
  };

  template <class Visit>
  void each(const toml::table& table, std::string_view key, Visit visit) {
    const toml::node* node = table.get(key);
    if (node == nullptr)
      return in_.fail(table.source().begin, fmt::format("no {}; expected [[{}]] tables", key, key));
    const toml::array* array = node->as_array();
    if (array == nullptr) return in_.fail(*node, fmt::format("{} is no list; expected [[{}]]", key, key));
    for (const toml::node& element : *array) {
      const toml::table* inner = element.as_table();
      if (inner == nullptr) in_.fail(element, fmt::format("{} is no table; expected [[{}]]", key, key));
      if (!in_.ok()) return;
      visit(*inner);
    }
  }

  std::vector<std::string> names(const toml::node& node, const std::string& pattern) {
    Result<std::vector<std::string>> expanded = expand_names(pattern);
    if (expanded) return *std::move(expanded);
    in_.fail(node, expanded.status().message());
    return {};
  }

  void read_nodes(const toml::table& table) {
    in_.allow(table, "a node", {"name", "kind", "machine", "rack", "site", "ports"});
    const auto pattern = in_.text(table, "name");
    const auto kind_text = in_.text(table, "kind");
    if (!pattern) in_.fail(table, "a node without a name; expected name = \"...\"");
    const NodeKind kind = read_kind(table, kind_text.value_or(""));
    const std::int64_t ports = in_.count(table, "ports", kRoomNodesMax).value_or(0);
    if (!in_.ok()) return;
    const std::vector<std::string> all = names(*table.get("name"), *pattern);
    if (room_.nodes.size() + all.size() > kRoomNodesMax) {
      return in_.fail(table, fmt::format("more than {} nodes; expected fewer", kRoomNodesMax));
    }
    std::vector<std::uint32_t> place[kLevels];
    for (std::size_t level = 0; level < kLevels; ++level) place[level] = read_place(table, level, all.size());
    for (std::size_t i = 0; in_.ok() && i < all.size(); ++i) {
      const auto index = static_cast<NodeIndex>(room_.nodes.size());
      if (!index_of_.emplace(all[i], index).second) {
        return in_.fail(table, fmt::format("there is already a node '{}'; expected another name", all[i]));
      }
      room_.nodes.push_back({all[i], kind, {place[0][i], place[1][i], place[2][i]}});
      origins_.push_back({table.source().begin, ports, 0});
      attached_.emplace_back();
      if (kind == NodeKind::kDevice) room_.ranks.push_back(index);
      if (kind == NodeKind::kHost) room_.spares.push_back(index);
    }
  }

  NodeKind read_kind(const toml::table& table, std::string_view text) {
    for (const NodeKind kind : {NodeKind::kDevice, NodeKind::kHost, NodeKind::kNic, NodeKind::kSwitch}) {
      if (text == kind_name(kind)) return kind;
    }
    const toml::node* node = table.get("kind");
    in_.fail(
        node == nullptr ? table : *node,
        fmt::format("'{}' is no kind of node; expected device, host, nic or switch", text.substr(0, 80)));
    return NodeKind::kSwitch;
  }

  // The numbers of as many nodes' places: a pattern of fewer names spreads them over those in equal runs.
  std::vector<std::uint32_t> read_place(const toml::table& table, std::size_t level, std::size_t nodes) {
    const std::string_view key = kPlaceKeys[level];
    const auto pattern = in_.text(table, key);
    std::vector<std::uint32_t> places(nodes, kNowhere);
    if (!pattern) return places;
    const std::vector<std::string> all = names(*table.get(key), *pattern);
    if (!in_.ok()) return places;
    if (nodes % all.size() != 0) {
      in_.fail(*table.get(key), fmt::format("{} of {} names for {} nodes; expected a number that divides it",
                                            key, all.size(), nodes));
      return places;
    }
    for (std::size_t i = 0; i < nodes; ++i) {
      auto& known = places_[level];
      const auto next = static_cast<std::uint32_t>(known.size());
      places[i] = known.emplace(all[i / (nodes / all.size())], next).first->second;
    }
    return places;
  }

  // A machine is in one rack and a rack at one site.
  void check_places() {
    for (std::size_t level = 0; level + 1 < kLevels; ++level) {
      std::vector<std::uint32_t> above(places_[level].size(), kNowhere);
      for (std::size_t i = 0; i < room_.nodes.size(); ++i) {
        const auto& place = room_.nodes[i].place;
        if (place[level] == kNowhere || place[level + 1] == kNowhere) continue;
        std::uint32_t& known = above[place[level]];
        if (known != kNowhere && known != place[level + 1]) {
          return in_.fail(origins_[i].at,
                          fmt::format("node '{}' puts its {} into a second {}; expected one",
                                      room_.nodes[i].name, kPlaceKeys[level], kPlaceKeys[level + 1]));
        }
        known = place[level + 1];
      }
    }
  }

  void read_links(const toml::table& table) {
    in_.allow(table, "a link",
              {"between", "bandwidth", "latency", "forward", "back", "oversubscription", "count", "shared"});
    const toml::array* between = table.get("between") == nullptr ? nullptr : table.get("between")->as_array();
    const auto* a = between != nullptr && between->size() == 2 ? between->get(0)->as_string() : nullptr;
    const auto* b = a != nullptr ? between->get(1)->as_string() : nullptr;
    if (b == nullptr) return in_.fail(table, "a link without ends; expected between = [\"NAME\", \"NAME\"]");
    const std::vector<NodeIndex> from = ends(*a), to = ends(*b);
    if (!in_.ok()) return;
    const std::size_t links = std::max(from.size(), to.size());
    if (room_.cables.size() + links > kRoomLinksMax) {
      return in_.fail(table, fmt::format("more than {} links; expected fewer", kRoomLinksMax));
    }
    if (links % from.size() != 0 || links % to.size() != 0) {
      return in_.fail(*between,
                      fmt::format("{} names on one side and {} on the other; expected one number to divide "
                                  "the other",
                                  from.size(), to.size()));
    }
    Cable cable;
    cable.shared = in_.flag(table, "shared").value_or(false);
    read_speeds(table, cable);
    const auto count = static_cast<double>(in_.count(table, "count", 1024).value_or(1));
    cable.forward.bytes_per_second *= count;
    cable.back.bytes_per_second *= count;
    const auto oversubscription = in_.factor(table, "oversubscription");
    for (std::size_t i = 0; in_.ok() && i < links; ++i) {
      cable.a = from[i / (links / from.size())];
      cable.b = to[i / (links / to.size())];
      if (oversubscription) read_uplink(table, *oversubscription, cable);
      add(table, cable);
    }
  }

  std::vector<NodeIndex> ends(const toml::value<std::string>& value) {
    std::vector<NodeIndex> nodes;
    for (const std::string& name : names(value, value.get())) {
      const auto found = index_of_.find(name);
      if (found == index_of_.end()) {
        in_.fail(value, fmt::format("there is no node '{}'; expected the name of a [[node]]", name));
        return {};
      }
      nodes.push_back(found->second);
    }
    return nodes;
  }

  void read_speeds(const toml::table& table, Cable& cable) {
    const bool each_way = table.contains("forward") || table.contains("back");
    if (table.contains("oversubscription")) {
      if (each_way || table.contains("bandwidth")) {
        return in_.fail(table, "a link with both a bandwidth and an oversubscription; expected one of them");
      }
      cable.forward.latency_ns = cable.back.latency_ns = read_latency(table);
      return;
    }
    if (!each_way) {
      cable.forward = cable.back = read_speed(table);
      return;
    }
    if (table.contains("bandwidth") || table.contains("latency")) {
      return in_.fail(table,
                      "a link with both directions together and apart; expected bandwidth and latency, or "
                      "forward and back");
    }
    cable.forward = read_direction(table, "forward");
    cable.back = read_direction(table, "back");
  }

  LinkSpeed read_direction(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    const toml::table* inner = node == nullptr ? nullptr : node->as_table();
    if (inner == nullptr) {
      in_.fail(node == nullptr ? table : *node,
               fmt::format("no {} direction; expected {} = {{ bandwidth = \"...\", latency = \"...\" }}", key,
                           key));
      return {};
    }
    in_.allow(*inner, "a direction", {"bandwidth", "latency"});
    return read_speed(*inner);
  }

  LinkSpeed read_speed(const toml::table& table) {
    const auto text = in_.text(table, "bandwidth");
    if (!text) in_.fail(table, "a link without bandwidth; expected bandwidth = \"16GB/s\" or the like");
    const std::uint64_t latency_ns = read_latency(table);
    if (!in_.ok()) return {};
    const Result<double> bandwidth = parse_bandwidth(*text);
    if (!bandwidth) in_.fail(*table.get("bandwidth"), bandwidth.status().message());
    return bandwidth ? LinkSpeed{*bandwidth, latency_ns} : LinkSpeed{};
  }

  std::uint64_t read_latency(const toml::table& table) {
    const auto text = in_.text(table, "latency");
    if (!text) in_.fail(table, "a link without latency; expected latency = \"2us\" or the like");
    if (!in_.ok()) return 0;
    const Result<std::uint64_t> latency = parse_latency(*text);
    if (!latency) in_.fail(*table.get("latency"), latency.status().message());
    return latency ? *latency : 0;
  }

  // What hangs on the link's first node so far, divided by the factor.
  void read_uplink(const toml::table& table, double factor, Cable& cable) {
    const auto [up, down] = attached_[cable.a];
    if (up == 0) {
      return in_.fail(table,
                      fmt::format("oversubscription of '{}', on which no link hangs yet; expected its other "
                                  "links above",
                                  room_.nodes[cable.a].name));
    }
    cable.forward.bytes_per_second = up / factor;
    cable.back.bytes_per_second = down / factor;
  }

  void add(const toml::table& table, const Cable& cable) {
    const std::string &a = room_.nodes[cable.a].name, &b = room_.nodes[cable.b].name;
    if (cable.a == cable.b)
      return in_.fail(table, fmt::format("a link from '{}' to itself; expected two nodes", a));
    if (!joined_.emplace(std::minmax(cable.a, cable.b), true).second) {
      return in_.fail(table,
                      fmt::format("a second link between '{}' and '{}'; expected one with count = 2", a, b));
    }
    ++origins_[cable.a].used;
    ++origins_[cable.b].used;
    for (const auto& [node, out, in] :
         {std::tuple(cable.a, cable.forward, cable.back), {cable.b, cable.back, cable.forward}}) {
      attached_[node].first += in.bytes_per_second;
      attached_[node].second += out.bytes_per_second;
    }
    room_.cables.push_back(cable);
  }

  void check_ports() {
    for (std::size_t i = 0; i < origins_.size(); ++i) {
      const Origin& origin = origins_[i];
      if (origin.ports == 0 || origin.used <= origin.ports) continue;
      in_.fail(origin.at,
               fmt::format("node '{}' has {} ports, and {} links end there; expected no more links than "
                           "ports",
                           room_.nodes[i].name, origin.ports, origin.used));
    }
  }

  // Which nodes a way leads to from the first rank, over devices too where they are taken to pass bytes on.
  std::vector<bool> reached(bool over_devices) const {
    std::vector<std::vector<NodeIndex>> neighbours(room_.nodes.size());
    for (const Cable& cable : room_.cables) {
      neighbours[cable.a].push_back(cable.b);
      neighbours[cable.b].push_back(cable.a);
    }
    const NodeIndex first = room_.ranks.front();
    std::vector<NodeIndex> queue{first};
    std::vector<bool> found(room_.nodes.size(), false);
    found[first] = true;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const bool device = room_.nodes[queue[next]].kind == NodeKind::kDevice;
      if (queue[next] != first && device && !over_devices) continue;
      for (const NodeIndex other : neighbours[queue[next]]) {
        if (!found[other]) queue.push_back(other);
        found[other] = true;
      }
    }
    return found;
  }

  // From the first rank to every endpoint; Topology::make() knows the remaining rest. A switch may join the
  // devices of one machine alone.
  void check_reachable() {
    if (!in_.ok() || room_.ranks.empty()) return;
    const std::vector<bool> by_forwarders = reached(false), joined = reached(true);
    for (NodeIndex i = 0; i < room_.nodes.size(); ++i) {
      const NodeKind kind = room_.nodes[i].kind;
      const bool endpoint = kind == NodeKind::kDevice || kind == NodeKind::kHost;
      if (endpoint ? by_forwarders[i] : joined[i]) continue;
      return in_.fail(origins_[i].at,
                      fmt::format("no way from '{}' to '{}'; expected links over switches, hosts or "
                                  "NICs (a device passes nothing on)",
                                  room_.nodes[room_.ranks.front()].name, room_.nodes[i].name));
    }
  }

  TomlReader in_;
  Room room_;
  std::map<std::string, NodeIndex> index_of_;
  std::map<std::pair<NodeIndex, NodeIndex>, bool> joined_;
  std::map<std::string, std::uint32_t> places_[kLevels];
  std::vector<Origin> origins_;                      // By node.
  std::vector<std::pair<double, double>> attached_;  // By node: bytes a second that its links bring and take.
};

}  // namespace

Result<Topology> parse_room(std::string_view text, const std::string& source) {
  if (text.size() > kRoomBytesMax) {
    return Status(Code::kConfig, fmt::format("{}: {} bytes; expected at most 16 MiB", source, text.size()));
  }
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n') + 1;
    return Status(Code::kConfig, fmt::format("{}:{}: a NUL byte; expected TOML text", source, line));
  }
  try {
    return RoomReader(source).read(toml::parse(text));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return Status(Code::kConfig,
                  fmt::format("{}:{}:{}: {}", source, at.line, at.column, error.description()));
  }
}

}  // namespace thalweg
