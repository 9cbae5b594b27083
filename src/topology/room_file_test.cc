#include "topology/room_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "topology/name_pattern.h"
#include "topology/presets.h"
#include "topology/render.h"

namespace thalweg {
namespace {

// Two machines of two GPUs; a half-duplex host link, a slower way back, and a rack switch.
constexpr std::string_view kRoom = R"(name = "two machines"

[[node]]
name = "m[0-1].gpu[0-1]"
kind = "device"
machine = "m[0-1]"
rack = "r"

[[node]]
name = "m[0-1].cpu"
kind = "host"
machine = "m[0-1]"
rack = "r"

[[node]]
name = "m[0-1].pcie"
kind = "switch"
machine = "m[0-1]"
ports = 3

[[node]]
name = "top"
kind = "switch"
rack = "r"

[[link]]
between = ["m[0-1].gpu[0-1]", "m[0-1].pcie"]
bandwidth = "16GB/s"
latency = "500ns"

[[link]]
between = ["m[0-1].cpu", "m[0-1].pcie"]
bandwidth = "8GB/s"
latency = "1us"
shared = true

[[link]]
between = ["m[0-1].cpu", "top"]
forward = { bandwidth = "10Gbit/s", latency = "10us" }
back = { bandwidth = "1Gbit/s", latency = "0" }
)";

Topology parsed(std::string_view text) {
  Result<Topology> topology = parse_room(text, "room.toml");
  EXPECT_TRUE(topology) << topology.status().message();
  return *std::move(topology);
}

std::string refusal(std::string_view text) {
  const Result<Topology> topology = parse_room(text, "room.toml");
  EXPECT_TRUE(topology || topology.status().code() == Code::kConfig);
  return topology ? "" : topology.status().message();
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kRoom);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(RoomFile, ReadsNodesPlacesAndLinksBothWays) {
  const Topology room = parsed(kRoom);
  EXPECT_EQ(room.name(), "two machines");
  ASSERT_EQ(room.rank_count(), 4u);
  EXPECT_EQ(room.endpoint_count(), 6u);
  EXPECT_EQ(room.node(room.endpoint_node(2)).name, "m1.gpu0");
  EXPECT_EQ(room.even_levels(), (std::vector<std::uint32_t>{2, 2}));
  EXPECT_EQ(room.place_count(Level::kRack), 1u);
  std::vector<LinkIndex> path;
  room.path(1, 3, path);
  ASSERT_EQ(path.size(), 6u);
  EXPECT_EQ(room.link(path[2]).bytes_per_second, 1.25e9);
  EXPECT_EQ(room.link(path[3]).bytes_per_second, 0.125e9);
  EXPECT_EQ(room.latency_ns(path), 500u + 1000 + 10'000 + 0 + 1000 + 500);
  EXPECT_EQ(room.link(path[1]).queue, room.link(path[1] ^ 1u).queue);
  EXPECT_NE(room.link(path[2]).queue, room.link(path[2] ^ 1u).queue);
}

TEST(RoomFile, OversubscriptionDividesWhatHangsBelow) {
  const Topology room = parsed(R"([[node]]
name = "d[0-7]"
kind = "device"
[[node]]
name = "leaf[0-1]"
kind = "switch"
[[node]]
name = "spine"
kind = "switch"
[[link]]
between = ["d[0-7]", "leaf[0-1]"]
bandwidth = "2GB/s"
latency = "1us"
count = 2
[[link]]
between = ["leaf[0-1]", "spine"]
oversubscription = 4
latency = "1us"
)");
  std::vector<LinkIndex> path;
  room.path(0, 7, path);
  ASSERT_EQ(path.size(), 4u);
  EXPECT_EQ(room.link(path[0]).bytes_per_second, 4e9);
  EXPECT_EQ(room.link(path[1]).bytes_per_second, 4e9);
  EXPECT_EQ(room.link(path[2]).bytes_per_second, 4 * 4e9 / 4);
}

TEST(RoomFile, TheManualsExampleIsARoom) {
  std::stringstream page;
  page << std::ifstream(THALWEG_SOURCE_DIR "/docs/topology.md").rdbuf();
  const std::string text = page.str();
  const std::size_t begin = text.find("```toml\n");
  ASSERT_NE(begin, text.npos);
  const Topology room = parsed(text.substr(begin + 8, text.find("```", begin + 8) - begin - 8));
  EXPECT_EQ(room.rank_count(), 8u);
  EXPECT_EQ(room.endpoint_count(), 11u);
  EXPECT_EQ(room.even_levels(), (std::vector<std::uint32_t>{4, 2}));
  std::vector<LinkIndex> path;
  room.path(0, 10, path);
  EXPECT_EQ(room.link(path.back()).bytes_per_second, 2 * 1.25e9 / 4);
}

TEST(RoomFile, NamesThePlaceAndWhatWasExpected) {
  EXPECT_EQ(refusal(with("ports = 3", "prts = 3")),
            "room.toml:19:1: a node has no 'prts'; expected name, kind, machine, rack, site, ports");
  EXPECT_EQ(refusal(with("8GB/s", "8GBs")),
            "room.toml:33:13: '8GBs' is no bandwidth; expected a number above 0 and a unit, such as 16GB/s, "
            "100MB/s or "
            "25Gbit/s");
  EXPECT_EQ(refusal(with("\"500ns\"", "\"-500ns\"")),
            "room.toml:29:11: '-500ns' is no latency; expected a number from 0 to an hour and a unit: ns, "
            "us, ms or s");
  EXPECT_EQ(refusal(with("\"500ns\"", "500")),
            "room.toml:29:11: latency is of another type; expected a string");
  EXPECT_EQ(refusal(with("latency = \"500ns\"", "")),
            "room.toml:26:1: a link without latency; expected latency = \"2us\" or the like");
  EXPECT_EQ(
      refusal(with("ports = 3", "ports = 2")),
      "room.toml:15:1: node 'm0.pcie' has 2 ports, and 3 links end there; expected no more links than ports");
  EXPECT_EQ(refusal(with("ports = 3", "ports = 0")), "room.toml:19:9: ports is 0; expected 1 to 262144");
  EXPECT_EQ(refusal(with("\"host\"", "\"hots\"")),
            "room.toml:11:8: 'hots' is no kind of node; expected device, host, nic or switch");
  EXPECT_EQ(refusal(with("[\"m[0-1].cpu\", \"top\"]", "[\"m0.cpu\", \"top\"]")),
            "room.toml:3:1: no way from 'm0.gpu0' to 'm1.gpu0'; expected links over switches, hosts or NICs "
            "(a device "
            "passes nothing on)");
  EXPECT_EQ(refusal(with("[\"m[0-1].cpu\", \"top\"]", "[\"m[0-2].cpu\", \"top\"]")),
            "room.toml:38:12: there is no node 'm2.cpu'; expected the name of a [[node]]");
  EXPECT_EQ(refusal(with("[\"m[0-1].gpu[0-1]\", \"m[0-1].pcie\"]", "[\"m[0-1].pcie\", \"m[0-1].pcie\"]")),
            "room.toml:26:1: a link from 'm0.pcie' to itself; expected two nodes");
  EXPECT_EQ(refusal(with("\"top\"]", "\"m[0-1].pcie\"]")),
            "room.toml:37:1: a second link between 'm0.cpu' and 'm0.pcie'; expected one with count = 2");
  EXPECT_EQ(refusal(with("forward =", "bandwidth = \"1GB/s\"\nforward =")),
            "room.toml:37:1: a link with both directions together and apart; expected bandwidth and latency, "
            "or forward "
            "and back");
  EXPECT_EQ(refusal(with("back = { bandwidth = \"1Gbit/s\", latency = \"0\" }", "")),
            "room.toml:37:1: no back direction; expected back = { bandwidth = \"...\", latency = \"...\" }");
  EXPECT_EQ(refusal(with("name = \"top\"", "name = \"m0.cpu\"")),
            "room.toml:21:1: there is already a node 'm0.cpu'; expected another name");
  EXPECT_EQ(refusal(with("machine = \"m[0-1]\"\nrack = \"r\"", "machine = \"m[0-2]\"\nrack = \"r\"")),
            "room.toml:6:11: machine of 3 names for 4 nodes; expected a number that divides it");
  EXPECT_EQ(
      refusal(with("kind = \"switch\"\nrack = \"r\"", "kind = \"switch\"\nmachine = \"m0\"\nrack = \"s\"")),
      "room.toml:21:1: node 'top' puts its machine into a second rack; expected one");
}

TEST(RoomFile, RefusesTextThatIsNoRoom) {
  EXPECT_EQ(refusal(""), "room.toml:1:1: no node; expected [[node]] tables");
  EXPECT_EQ(refusal("node = 3"), "room.toml:1:8: node is no list; expected [[node]]");
  EXPECT_EQ(refusal("node = [3]\nlink = []"), "room.toml:1:9: node is no table; expected [[node]]");
  EXPECT_EQ(refusal("node = []\nlink = []"), "room.toml:1:1: room: no rank; expected at least one device");
  EXPECT_EQ(refusal("colour = 1\nnode = []\nlink = []"),
            "room.toml:1:1: a room has no 'colour'; expected name, node, link");
  EXPECT_EQ(refusal(std::string("name = 1\n\0", 10)), "room.toml:2: a NUL byte; expected TOML text");
  EXPECT_EQ(refusal(std::string(kRoomBytesMax + 1, '\n')),
            "room.toml: 16777217 bytes; expected at most 16 MiB");
  EXPECT_EQ(refusal("[[node]\n").substr(0, 13), "room.toml:1:8");
  EXPECT_EQ(refusal("[[node]]\nkind = \"device\"\n[[link]]"),
            "room.toml:1:1: a node without a name; expected name = \"...\"");
  const std::string one = "[[node]]\nname = \"a[0-1]\"\nkind = \"device\"\n[[link]]\n";
  EXPECT_EQ(refusal(one + "between = [\"a0\"]"),
            "room.toml:4:1: a link without ends; expected between = [\"NAME\", \"NAME\"]");
  EXPECT_EQ(
      refusal(one + "between = [\"a0\", \"a1\"]\noversubscription = 2\nlatency = \"0\""),
      "room.toml:4:1: oversubscription of 'a0', on which no link hangs yet; expected its other links above");
  EXPECT_EQ(refusal(one + "between = [\"a0\", \"a1\"]\noversubscription = 0.5\nlatency = \"0\""),
            "room.toml:6:20: oversubscription is wrong; expected a number from 1 to 1000000");
  EXPECT_EQ(refusal(one + "between = [\"a0\", \"a1\"]\nlatency = \"0\""),
            "room.toml:4:1: a link without bandwidth; expected bandwidth = \"16GB/s\" or the like");
}

TEST(RoomFile, BoundsWhatAShortTextCanAskFor) {
  EXPECT_EQ(refusal("[[node]]\nname = \"a[0-262142]\"\nkind = \"switch\"\n[[node]]\nname = \"b[0-1]\"\nkind "
                    "= \"device\""),
            "room.toml:4:1: more than 262144 nodes; expected fewer");
  std::string text = "[[node]]\nname = \"a[0-200000]\"\nkind = \"switch\"\n";
  for (const int step : {1, 2, 3}) {
    text += fmt::format(
        "[[link]]\nbetween = [\"a[0-199997]\", \"a[{}-{}]\"]\nbandwidth = \"1B/s\"\nlatency = \"0\"\n", step,
        199997 + step);
  }
  EXPECT_EQ(refusal(text), "room.toml:12:1: more than 524288 links; expected fewer");
}

TEST(RoomFile, APresetAsAFileIsTheSameRoom) {
  for (const PresetInfo& info : presets()) {
    const Topology before = *preset(info.ranks == 0 ? "uniform:5,3GB/s,7us" : info.name);
    const Topology after = parsed(to_toml(before.room()));
    ASSERT_EQ(after.endpoint_count(), before.endpoint_count()) << info.name;
    EXPECT_EQ(after.name(), before.name());
    EXPECT_EQ(after.even_levels(), before.even_levels());
    ASSERT_EQ(after.link_count(), before.link_count());
    for (LinkIndex i = 0; i < before.link_count(); ++i) {
      EXPECT_EQ(after.link(i).bytes_per_second, before.link(i).bytes_per_second);
      EXPECT_EQ(after.link(i).latency_ns, before.link(i).latency_ns);
      EXPECT_EQ(after.link_name(i), before.link_name(i));
    }
  }
}

TEST(RoomFile, GraphvizTextHasEachNodeAndCable) {
  const std::string dot = to_dot(parsed(kRoom).room());
  for (const char* part :
       {"graph \"two machines\" {", "subgraph cluster_machine1 { label=\"machine 1\";",
        "subgraph cluster_rack0", "n0 [label=\"m0.gpu0\", shape=box];",
        "n0 -- n6 [label=\"16 GB/s\\n500 ns\"];", "n4 -- n6 [label=\"8 GB/s\\n1 us\", style=dashed];",
        "n5 -- n8 [label=\"1.25 GB/s | 125 MB/s\\n10 us | 0\"];"}) {
    EXPECT_NE(dot.find(part), dot.npos) << part << "\n" << dot;
  }
}

TEST(NamePattern, RunsTheLastRangeFastest) {
  EXPECT_EQ(*expand_names("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(*expand_names("m[1-2].g[9-10]"),
            (std::vector<std::string>{"m1.g9", "m1.g10", "m2.g9", "m2.g10"}));
  for (const char* wrong : {"", "a b", "a[", "a[]", "a[1]", "a[1-]", "a[2-1]", "a[-1]", "a[1-2", "a]",
                            "a[1-2x]", "ä", "a[0-9999999999]", "a[0-400][0-4000]"}) {
    EXPECT_EQ(expand_names(wrong).status().code(), Code::kConfig) << wrong;
  }
}

}  // namespace
}  // namespace thalweg
