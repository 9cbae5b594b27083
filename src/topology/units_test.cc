#include "topology/units.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(Units, ReadsBandwidthsInBytesAndBits) {
  EXPECT_EQ(*parse_bandwidth("16GB/s"), 16e9);
  EXPECT_EQ(*parse_bandwidth("25Gbit/s"), 3.125e9);
  EXPECT_EQ(*parse_bandwidth("2.5 GiB/s"), 2.5 * 1073741824);
  EXPECT_EQ(*parse_bandwidth("1e3MB/s"), 1e9);
  for (const char* wrong : {"", "16", "16G", "16GB", "16gb/s", "-1GB/s", "0GB/s", "0", "infGB/s", "nanGB/s",
                            "1e999GB/s", "1e300TB/s", "GB/s", "16GB/s ", " 16GB/s", "16Gb/s", "1,6GB/s"}) {
    EXPECT_EQ(parse_bandwidth(wrong).status().code(), Code::kConfig) << wrong;
  }
}

TEST(Units, ReadsLatencies) {
  EXPECT_EQ(*parse_latency("2us"), 2000u);
  EXPECT_EQ(*parse_latency("0.5 ns"), 1u);
  EXPECT_EQ(*parse_latency("10ms"), 10'000'000u);
  EXPECT_EQ(*parse_latency("0"), 0u);
  for (const char* wrong : {"", "2", "2 u", "-1us", "1e9s", "us", "2US", "2h", "-0.1us"}) {
    EXPECT_EQ(parse_latency(wrong).status().code(), Code::kConfig) << wrong;
  }
  EXPECT_EQ(parse_latency("2 weeks").status().message(),
            "'2 weeks' is no latency; expected a number from 0 to an hour and a unit: ns, us, ms or s");
}

TEST(Units, WritesThemShort) {
  EXPECT_EQ(bandwidth_text(16e9), "16 GB/s");
  EXPECT_EQ(bandwidth_text(3.125e9), "3.125 GB/s");
  EXPECT_EQ(bandwidth_text(999), "999 B/s");
  EXPECT_EQ(bandwidth_text(0.5), "0.5 B/s");
  EXPECT_EQ(latency_text(0), "0");
  EXPECT_EQ(latency_text(1500), "1.5 us");
  EXPECT_EQ(latency_text(10'000'000), "10 ms");
}

}  // namespace
}  // namespace thalweg
