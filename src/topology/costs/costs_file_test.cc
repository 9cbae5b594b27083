#include "topology/costs/costs_file.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(CostsFile, IsReadAsItIsWritten) {
  MachineCosts costs;
  costs.shared_memory = {12345678901.25, 3.3e-7, 1.0 / 3 * 1e-6};
  costs.loopback.latency_seconds = 0;
  costs.cache_bytes = 1 << 20;
  const auto read = parse_costs(to_toml(costs), "costs.toml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, costs);
}

TEST(CostsFile, LeavesWhatItDoesNotSay) {
  const auto read = parse_costs("[loopback]\nmessage_seconds = 2e-6\n", "costs.toml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  MachineCosts expected;
  expected.loopback.message_seconds = 2e-6;
  EXPECT_EQ(*read, expected);
}

TEST(CostsFile, SaysWhatIsWrongAndWhere) {
  const auto message = [](std::string_view text) {
    const auto read = parse_costs(text, "costs.toml");
    EXPECT_EQ(read.status().code(), Code::kConfig) << text;
    return read.status().message();
  };
  EXPECT_EQ(message("[core]\nadd_seconds_per_byte = -1\n"),
            "costs.toml:2:24: add_seconds_per_byte is wrong; expected a number such as 7e-11");
  EXPECT_NE(message("[core]\nspeed = 1\n").find("core has no 'speed'"), std::string::npos);
  EXPECT_NE(message("[disk]\n").find("expected shared_memory, loopback, core"), std::string::npos);
  EXPECT_NE(message("loopback = 3\n").find("expected [loopback]"), std::string::npos);
  EXPECT_NE(message("[loopback]\nbytes_per_second = 0\n").find("2:20: bytes_per_second"), std::string::npos);
  EXPECT_NE(message("[loopback]\nbytes_per_second = nan\n").find("bytes_per_second"), std::string::npos);
  EXPECT_NE(message("[loopback\n").find("costs.toml:1:"), std::string::npos);
  EXPECT_NE(message(std::string(kCostsBytesMax + 1, '#')).find("at most"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
