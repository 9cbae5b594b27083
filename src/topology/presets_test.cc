#include "topology/presets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "topology/room_for_test.h"

namespace thalweg {
namespace {

Topology made(std::string_view name, std::uint32_t ranks = 0) {
  Result<Topology> topology = preset(name, ranks);
  EXPECT_TRUE(topology) << topology.status().message();
  return *std::move(topology);
}

std::vector<LinkIndex> path(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkIndex> links;
  topology.path(from, to, links);
  return links;
}

TEST(Presets, HaveTheRanksThatTheySay) {
  for (const PresetInfo& info : presets()) {
    if (info.ranks == 0) continue;
    const Topology topology = made(info.name);
    EXPECT_EQ(topology.rank_count(), info.ranks) << info.name;
    EXPECT_EQ(topology.name(), info.name);
    const std::vector<std::uint32_t> levels = topology.even_levels();
    EXPECT_EQ(std::accumulate(levels.begin(), levels.end(), 1u, std::multiplies<>()), info.ranks)
        << info.name;
    EXPECT_TRUE(is_preset(info.name));
  }
}

TEST(Presets, PcieBoxIsTheTextbooks) {
  const Topology box = made("pcie-box");
  ASSERT_EQ(box.endpoint_count(), 5u);  // Four GPUs, then the CPU.
  EXPECT_EQ(box.node(box.endpoint_node(4)).kind, NodeKind::kHost);
  for (std::uint32_t a = 0; a < 5; ++a) {
    for (std::uint32_t b = 0; b < 5; ++b) {
      if (a == b) continue;
      const std::vector<LinkIndex> links = path(box, a, b);
      EXPECT_EQ(links.size(), 2u);
      EXPECT_EQ(narrowest(box, links), 16e9);
      EXPECT_EQ(box.latency_ns(links), 0u);
    }
  }
  EXPECT_EQ(made("pcie-box", 8).endpoint_count(), 9u);
}

TEST(Presets, Dgx1vHasEightDoubleAndEightSingleNvlinkPairsAndPcieBetweenTheOthers) {
  const Topology dgx = made("dgx1v");
  const std::vector<DirectLink> direct = dgx.direct_links();
  ASSERT_EQ(direct.size(), 32u);
  std::vector<double> sum(8, 0);
  int doubles = 0;
  for (const DirectLink& link : direct) {
    sum[link.from] += link.bytes_per_second;
    doubles += link.bytes_per_second == 36e9;
  }
  EXPECT_EQ(doubles, 16);
  for (const double bytes_per_second : sum) EXPECT_EQ(bytes_per_second, 6 * 18e9);
  EXPECT_EQ(path(dgx, 0, 4).size(), 1u);
  EXPECT_EQ(path(dgx, 0, 5).size(), 5u);  // pcie0, cpu0, cpu1, pcie2.
  EXPECT_EQ(path(dgx, 0, 9).size(), 3u);  // The far CPU.
  EXPECT_EQ(made("dgx1v", 6).direct_links().size(), 18u);
}

TEST(Presets, RacksScaleByMachinesOfFourGpus) {
  const Topology rack = made("rack-10g", 8);  // Two machines of four GPUs, 16 and 1 GB/s.
  EXPECT_EQ(rack.even_levels(), (std::vector<std::uint32_t>{4, 2}));
  EXPECT_EQ(rack.place_count(Level::kMachine), 2u);
  EXPECT_EQ(narrowest(rack, path(rack, 0, 3)), 16e9);
  const std::vector<LinkIndex> out = path(rack, 0, 4);
  EXPECT_EQ(out.size(), 6u);
  EXPECT_EQ(narrowest(rack, out), 1e9);
  EXPECT_EQ(rack.latency_ns(out), 4 * 500u + 2 * 10'000u);
  EXPECT_EQ(rack.place(Level::kMachine, 9), 1u);  // The second machine's CPU.
  const Topology odd = made("rack-1g", 10);
  EXPECT_EQ(odd.place_count(Level::kMachine), 3u);
  EXPECT_EQ(odd.even_levels(), std::vector<std::uint32_t>{10});
  EXPECT_EQ(narrowest(made("rack-25g"), path(made("rack-25g"), 0, 31)), 2.5e9);
  EXPECT_EQ(narrowest(made("rack-100g"), path(made("rack-100g"), 0, 31)), 10e9);
}

TEST(Presets, FatTreeIsOversubscribedAndSitesAreFarApart) {
  const Topology fat = made("fat-tree");
  EXPECT_EQ(fat.even_levels(), (std::vector<std::uint32_t>{4, 8, 4}));
  const std::vector<LinkIndex> links = path(fat, 0, 127);
  ASSERT_EQ(links.size(), 8u);
  EXPECT_EQ(fat.link(links[3]).bytes_per_second, 8 * 2.5e9 / 4);
  const Topology sites = made("two-sites");
  EXPECT_EQ(sites.even_levels(), (std::vector<std::uint32_t>{4, 4, 2}));
  EXPECT_EQ(sites.place(Level::kSite, 16), 1u);
  EXPECT_EQ(sites.place_count(Level::kMachine), 8u);
  EXPECT_GT(sites.latency_ns(path(sites, 0, 16)), 10'000'000u);
  EXPECT_EQ(made("two-sites", 2).rank_count(), 2u);
}

TEST(Presets, BoxesHaveACardBesideEachGpuAndNvlinkBetweenThem) {
  for (const std::uint32_t cards : {1u, 2u, 4u}) {
    const Topology boxes = made(fmt::format("boxes-{}x100g", cards), 24);
    EXPECT_EQ(boxes.even_levels(), (std::vector<std::uint32_t>{8, 3}));
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
      for (std::uint32_t other = 0; other < 24; ++other) {
        if (other == gpu) continue;
        const std::vector<LinkIndex> links = path(boxes, gpu, other);
        if (other < 8) {
          ASSERT_EQ(links.size(), 2u);
          EXPECT_EQ(boxes.link_name(links[0]), fmt::format("m0.gpu{} -> m0.nvlink", gpu));
          EXPECT_EQ(narrowest(boxes, links), 108e9);
          continue;
        }
        ASSERT_EQ(links.size(), 6u);  // gpu, pcie, nic, rack, nic, pcie, gpu.
        EXPECT_EQ(boxes.link_name(links[2]), fmt::format("m0.nic{} -> rack0", gpu * cards / 8));
        EXPECT_EQ(boxes.link_name(links[3]),
                  fmt::format("rack0 -> m{}.nic{}", other / 8, other % 8 * cards / 8));
        EXPECT_EQ(narrowest(boxes, links), 10e9);
      }
    }
  }
  EXPECT_EQ(made("boxes-2x100g", 1360).rank_count(), 1360u);
  EXPECT_EQ(preset("boxes-2x100g", 1361).status().code(), Code::kUsage);
  EXPECT_EQ(made("boxes-4x100g", 816).rank_count(), 816u);
  EXPECT_EQ(preset("boxes-4x100g", 817).status().code(), Code::kUsage);
}

TEST(Presets, UniformTakesItsParameters) {
  const Topology flat = made("uniform:16,25Gbit/s,2us");
  EXPECT_EQ(flat.rank_count(), 16u);
  EXPECT_EQ(flat.latency_ns(path(flat, 3, 5)), 2000u);
  EXPECT_EQ(narrowest(flat, path(flat, 3, 5)), 3.125e9);
  EXPECT_EQ(made("uniform:16,25Gbit/s,2us", 5).rank_count(), 5u);
}

TEST(Presets, TenThousandRanksAreCheap) {
  for (const char* name : {"rack-10g", "fat-tree", "two-sites", "uniform:1,1GB/s,1us"}) {
    const Topology topology = made(name, 10'000);
    std::size_t links = 0;
    for (std::uint32_t rank = 0; rank < 10'000; ++rank)
      links += path(topology, rank, (rank + 5003) % 10'000).size();
    EXPECT_GE(links, 20'000u) << name;
  }
}

TEST(Presets, SayWhatIsExpected) {
  EXPECT_EQ(preset("rack-40g").status().message(),
            "there is no preset 'rack-40g'; expected one of pcie-box, dgx1v, rack-1g, rack-10g, rack-25g, "
            "rack-100g, "
            "fat-tree, boxes-1x100g, boxes-2x100g, boxes-4x100g, two-sites, uniform:N,BANDWIDTH,LATENCY");
  EXPECT_EQ(preset("dgx1v", 9).status().message(), "preset dgx1v with 9 ranks; expected 1 to 8");
  EXPECT_EQ(preset("two-sites", 1).status().message(), "preset two-sites with 1 ranks; expected 2 to 65536");
  for (const char* wrong :
       {"uniform", "uniform:", "uniform:4", "uniform:4,1GB/s", "uniform:x,1GB/s,1us", "uniform:4,1,1us",
        "uniform:4,1GB/s,1", "uniform:4,1GB/s,1us,", "uniform:-4,1GB/s,1us", "uniform:0,1GB/s,1us",
        "uniform:70000,1GB/s,1us", "dgx1v:8", ""}) {
    EXPECT_EQ(preset(wrong).status().code(), Code::kUsage) << wrong;
  }
  EXPECT_TRUE(is_preset("uniform:4"));
  EXPECT_FALSE(is_preset("room.toml"));
}

}  // namespace
}  // namespace thalweg
