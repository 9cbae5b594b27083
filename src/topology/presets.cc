#include "topology/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "topology/units.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kGpusPerMachine = 4;
constexpr std::uint32_t kMachinesPerRack = 8;
constexpr std::uint32_t kGpusPerBox = 8;
constexpr double kOversubscription = 4;
constexpr LinkSpeed kPcie{16e9, 500};  // PCIe 3.0 x16.
constexpr LinkSpeed kQpi{19.2e9, 300};
constexpr LinkSpeed kNvlink{18e9, 700};

// What a network card does for one stream of a program, which is four fifths of its line rate, and its way to
// the switch through the kernel (the fastest: past it).
struct Ethernet {
  std::string_view preset;
  LinkSpeed speed;
};
constexpr Ethernet kEthernets[] = {{"rack-1g", {0.1e9, 25'000}},
                                   {"rack-10g", {1e9, 10'000}},
                                   {"rack-25g", {2.5e9, 5'000}},
                                   {"rack-100g", {10e9, 1'500}}};
constexpr LinkSpeed kNic25g = kEthernets[2].speed;
constexpr LinkSpeed kNic100g = kEthernets[3].speed;

constexpr PresetInfo kPresets[] = {
    {"pcie-box", "GPUs and a CPU on one non-blocking PCIe switch, 16 GB/s a port, no latency", 4},
    {"dgx1v", "8 GPUs, 16 NVLink pairs of 18 or 36 GB/s each way, and PCIe to two hosts", 8},
    {"rack-1g", "machines of 4 GPUs behind one switch, 0.1 GB/s each way", 32},
    {"rack-10g", "machines of 4 GPUs behind one switch, 1 GB/s each way", 32},
    {"rack-25g", "machines of 4 GPUs behind one switch, 2.5 GB/s each way", 32},
    {"rack-100g", "machines of 4 GPUs behind one switch, 10 GB/s each way", 32},
    {"fat-tree", "racks of 8 machines of 4 GPUs, 2.5 GB/s each, a quarter of that between racks", 128},
    {"boxes-1x100g", "boxes of 8 GPUs on NVLink and a PCIe switch with a card of 10 GB/s, behind one switch",
     32},
    {"boxes-2x100g", "the same with two PCIe switches of 4 GPUs and such a card", 32},
    {"boxes-4x100g", "the same with four PCIe switches of 2 GPUs and such a card", 32},
    {"two-sites", "two racks of machines of 4 GPUs, 1 GB/s and 10 ms between them", 32},
    {"uniform:N,BANDWIDTH,LATENCY",
     "N machines of one rank on an ideal switch, for instance uniform:16,1GB/s,5us", 0},
};

constexpr std::uint32_t kNoPlace[kLevels] = {kNowhere, kNowhere, kNowhere};

Room pcie_box(std::uint32_t gpus) {
  Room room;
  const std::uint32_t place[kLevels] = {0, kNowhere, kNowhere};
  const NodeIndex hub = room.add(NodeKind::kSwitch, "pcie", place);
  const auto plug = [&](NodeKind kind, std::string name) {
    const NodeIndex node = room.add(kind, std::move(name), place);
    room.connect(node, hub, {kPcie.bytes_per_second, 0});
    return node;
  };
  for (std::uint32_t i = 0; i < gpus; ++i)
    room.ranks.push_back(plug(NodeKind::kDevice, fmt::format("gpu{}", i)));
  room.spares.push_back(plug(NodeKind::kHost, "cpu"));
  return room;
}

// Pairs of GPUs with two links come first. Two GPUs hang on each PCIe switch, two switches on each CPU.
Room dgx1v(std::uint32_t gpus) {
  constexpr std::uint32_t kPairs[][2] = {{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7},
                                         {0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}};
  constexpr std::size_t kDoublePairs = 8;
  Room room;
  const std::uint32_t place[kLevels] = {0, kNowhere, kNowhere};
  for (std::uint32_t i = 0; i < gpus; ++i) {
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("gpu{}", i), place));
  }
  for (std::size_t i = 0; i < std::size(kPairs); ++i) {
    const auto& pair = kPairs[i];
    if (std::max(pair[0], pair[1]) >= gpus) continue;
    const double links = i < kDoublePairs ? 2 : 1;
    room.connect(pair[0], pair[1], {links * kNvlink.bytes_per_second, kNvlink.latency_ns});
  }
  for (const char* name : {"cpu0", "cpu1"}) room.spares.push_back(room.add(NodeKind::kHost, name, place));
  room.connect(room.spares[0], room.spares[1], kQpi);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const NodeIndex hub = room.add(NodeKind::kSwitch, fmt::format("pcie{}", i), place);
    room.connect(hub, room.spares[i / 2], kPcie);
    for (std::uint32_t gpu = 2 * i; gpu < std::min(2 * i + 2, gpus); ++gpu) room.connect(gpu, hub, kPcie);
  }
  return room;
}

// One machine with up to four GPUs, a CPU and a network card on a PCIe switch; the card's cable goes to
// `above`.
void add_machine(Room& room, std::uint32_t gpus, NodeIndex above, const std::uint32_t (&place)[kLevels],
                 LinkSpeed ethernet) {
  const std::uint32_t machine = place[0];
  const NodeIndex hub = room.add(NodeKind::kSwitch, fmt::format("m{}.pcie", machine), place);
  const auto plug = [&](NodeKind kind, std::string name) {
    const NodeIndex node = room.add(kind, std::move(name), place);
    room.connect(node, hub, kPcie);
    return node;
  };
  for (std::uint32_t i = 0; i < gpus; ++i) {
    room.ranks.push_back(plug(NodeKind::kDevice, fmt::format("m{}.gpu{}", machine, i)));
  }
  room.spares.push_back(plug(NodeKind::kHost, fmt::format("m{}.cpu", machine)));
  room.connect(plug(NodeKind::kNic, fmt::format("m{}.nic", machine)), above, ethernet);
}

// A box of up to eight GPUs, each with six NVLinks to one NVLink switch and a lane to one of `switches` PCIe
// switches, which are spread over two CPUs. Each PCIe switch has a network card, whose cable goes to `above`,
// so that the way out of a GPU is over the card beside it.
void add_box(Room& room, std::uint32_t gpus, std::uint32_t switches, NodeIndex above, std::uint32_t box) {
  constexpr LinkSpeed kToNvswitch{6 * kNvlink.bytes_per_second, kNvlink.latency_ns / 2};
  const std::uint32_t place[kLevels] = {box, 0, kNowhere};
  const auto add = [&](NodeKind kind, std::string_view what, std::uint32_t number) {
    return room.add(kind, fmt::format("m{}.{}{}", box, what, number), place);
  };
  std::vector<NodeIndex> hubs, cpus;
  for (std::uint32_t i = 0; i < gpus; ++i) room.ranks.push_back(add(NodeKind::kDevice, "gpu", i));
  const NodeIndex nvswitch = room.add(NodeKind::kSwitch, fmt::format("m{}.nvlink", box), place);
  for (std::uint32_t i = 0; i < std::min(switches, 2u); ++i) cpus.push_back(add(NodeKind::kHost, "cpu", i));
  if (cpus.size() == 2) room.connect(cpus[0], cpus[1], kQpi);
  for (std::uint32_t i = 0; i < switches; ++i) {
    hubs.push_back(add(NodeKind::kSwitch, "pcie", i));
    room.connect(hubs[i], cpus[i * cpus.size() / switches], kPcie);
    const NodeIndex nic = add(NodeKind::kNic, "nic", i);
    room.connect(nic, hubs[i], kPcie);
    room.connect(nic, above, kNic100g);
  }
  for (std::uint32_t i = 0; i < gpus; ++i) {
    const NodeIndex gpu = room.ranks[room.ranks.size() - gpus + i];
    room.connect(gpu, nvswitch, kToNvswitch);
    room.connect(gpu, hubs[i * switches / kGpusPerBox], kPcie);
  }
  room.spares.insert(room.spares.end(), cpus.begin(), cpus.end());
}

Room boxes(std::uint32_t ranks, std::uint32_t cards) {
  Room room;
  const std::uint32_t place[kLevels] = {kNowhere, 0, kNowhere};
  const NodeIndex top = room.add(NodeKind::kSwitch, "rack0", place);
  for (std::uint32_t done = 0; done < ranks; done += kGpusPerBox)
    add_box(room, std::min(kGpusPerBox, ranks - done), cards, top, done / kGpusPerBox);
  return room;
}

// PCIe switches, cards and CPUs of boxes lie on cycles, for which there is limited room.
std::uint32_t box_ranks_max(std::uint32_t cards) {
  return cards == 1 ? kPresetRanksMax : kGpusPerBox * ((Topology::kCoreNodesMax - 1) / (2 * cards + 2));
}

// How many cards the preset of that name has in a box; 0: it has no boxes.
std::uint32_t cards_of(std::string_view name) {
  for (const std::uint32_t cards : {1u, 2u, 4u}) {
    if (name == fmt::format("boxes-{}x100g", cards)) return cards;
  }
  return 0;
}

// Racks of at most `machines_per_rack` machines (0: all in one) that together have `ranks` GPUs, all at
// `site`. The racks' switches, which are returned, hang on nothing yet.
std::vector<NodeIndex> add_racks(Room& room, std::uint32_t ranks, std::uint32_t machines_per_rack,
                                 std::uint32_t site, LinkSpeed ethernet) {
  std::uint32_t machine = 0, rack = kNowhere;
  for (const RoomNode& node : room.nodes) {
    if (node.place[0] != kNowhere) machine = node.place[0] + 1;
    if (node.place[1] != kNowhere) rack = node.place[1];
  }
  std::vector<NodeIndex> tops;
  for (std::uint32_t done = 0, in_rack = 0; done < ranks; done += kGpusPerMachine, ++machine, ++in_rack) {
    if (tops.empty() || in_rack == machines_per_rack) {
      const std::uint32_t place[kLevels] = {kNowhere, ++rack, site};
      tops.push_back(room.add(NodeKind::kSwitch, fmt::format("rack{}", rack), place));
      in_rack = 0;
    }
    const std::uint32_t place[kLevels] = {machine, rack, site};
    add_machine(room, std::min(kGpusPerMachine, ranks - done), tops.back(), place, ethernet);
  }
  return tops;
}

// A fat tree in the sense of Leiserson (1985): one thick link stands for the many between a rack and the
// spine.
Room fat_tree(std::uint32_t ranks) {
  Room room;
  const LinkSpeed uplink{kMachinesPerRack * kNic25g.bytes_per_second / kOversubscription, 1'000};
  const std::vector<NodeIndex> tops = add_racks(room, ranks, kMachinesPerRack, 0, kNic25g);
  const std::uint32_t place[kLevels] = {kNowhere, kNowhere, 0};
  const NodeIndex spine = room.add(NodeKind::kSwitch, "spine", place);
  for (const NodeIndex top : tops) room.connect(top, spine, uplink);
  return room;
}

Room two_sites(std::uint32_t ranks) {
  constexpr LinkSpeed kLongHaul{1e9, 10'000'000};
  Room room;
  const NodeIndex first = add_racks(room, ranks - ranks / 2, 0, 0, kNic25g).front();
  const NodeIndex second = add_racks(room, ranks / 2, 0, 1, kNic25g).front();
  room.connect(first, second, kLongHaul);
  return room;
}

// The whole latency is on the way to the switch, so that a message pays it once.
Room uniform(std::uint32_t ranks, double bytes_per_second, std::uint64_t latency_ns) {
  Room room;
  const NodeIndex hub = room.add(NodeKind::kSwitch, "switch", kNoPlace);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const std::uint32_t place[kLevels] = {i, kNowhere, kNowhere};
    room.ranks.push_back(room.add(NodeKind::kDevice, fmt::format("n{}", i), place));
    room.cables.push_back({room.ranks.back(), hub, {bytes_per_second, latency_ns}, {bytes_per_second, 0}});
  }
  return room;
}

std::string_view family(std::string_view name) { return name.substr(0, name.find(':')); }

const PresetInfo* find_preset(std::string_view name) {
  const bool with_parameters = name.find(':') != name.npos;
  for (const PresetInfo& known : kPresets) {
    if (family(known.name) == family(name) && (known.ranks == 0 || !with_parameters)) return &known;
  }
  return nullptr;
}

Status no_such_preset(std::string_view name) {
  std::string message = fmt::format("there is no preset '{}'; expected one of", name.substr(0, 80));
  for (const PresetInfo& known : kPresets)
    message += fmt::format("{} {}", &known == kPresets ? "" : ",", known.name);
  return {Code::kUsage, message};
}

Status check_ranks(std::string_view name, std::uint32_t ranks, std::uint32_t least, std::uint32_t most) {
  if (ranks >= least && ranks <= most) return ok_status();
  return {Code::kUsage, fmt::format("preset {} with {} ranks; expected {} to {}", name, ranks, least, most)};
}

Result<Room> uniform_room(std::string_view name, std::uint32_t ranks) {
  const auto wrong = [&](const std::string& why) {
    return Status(Code::kUsage,
                  fmt::format("preset '{}': {}; expected uniform:N,BANDWIDTH,LATENCY, for instance "
                              "uniform:16,1GB/s,5us",
                              name.substr(0, 80), why));
  };
  std::vector<std::string_view> parts;
  for (std::size_t begin = std::min(name.size(), name.find(':')); begin < name.size();) {
    const std::size_t end = std::min(name.size(), name.find(',', begin + 1));
    parts.push_back(name.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  if (parts.size() != 3) return wrong(fmt::format("{} parameters", parts.size()));
  std::uint32_t count = 0;
  const char* end = parts[0].data() + parts[0].size();
  const auto parsed = std::from_chars(parts[0].data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    return wrong(fmt::format("'{}' is no number of ranks", parts[0]));
  const Result<double> bandwidth = parse_bandwidth(parts[1]);
  if (!bandwidth) return wrong(bandwidth.status().message());
  const Result<std::uint64_t> latency = parse_latency(parts[2]);
  if (!latency) return wrong(latency.status().message());
  if (ranks != 0) count = ranks;
  if (Status status = check_ranks(name, count, 1, kPresetRanksMax); !status.ok()) return status;
  return uniform(count, *bandwidth, *latency);
}

Result<Room> preset_room(const PresetInfo& info, std::uint32_t ranks) {
  const bool box = info.name == "pcie-box", dgx = info.name == "dgx1v", sites = info.name == "two-sites";
  const std::uint32_t cards = cards_of(info.name);
  const std::uint32_t most = box ? 16 : dgx ? 8 : cards ? box_ranks_max(cards) : kPresetRanksMax;
  if (Status status = check_ranks(info.name, ranks, sites ? 2 : 1, most); !status.ok()) return status;
  if (box) return pcie_box(ranks);
  if (dgx) return dgx1v(ranks);
  if (sites) return two_sites(ranks);
  if (cards > 0) return boxes(ranks, cards);
  if (info.name == "fat-tree") return fat_tree(ranks);
  Room room;
  for (const Ethernet& ethernet : kEthernets) {
    if (ethernet.preset == info.name) add_racks(room, ranks, 0, 0, ethernet.speed);
  }
  return room;
}

}  // namespace

std::span<const PresetInfo> presets() { return kPresets; }

bool is_preset(std::string_view name) { return find_preset(name) != nullptr; }

Result<Topology> preset(std::string_view name, std::uint32_t ranks) {
  const PresetInfo* info = find_preset(name);
  if (info == nullptr) return no_such_preset(name);
  Result<Room> room =
      info->ranks == 0 ? uniform_room(name, ranks) : preset_room(*info, ranks == 0 ? info->ranks : ranks);
  if (!room) return room.status();
  room->name = std::string(name);
  return Topology::make(*std::move(room));
}

}  // namespace thalweg
