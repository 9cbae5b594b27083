#include "exchange/costs/costs_file.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace thalweg {
namespace {

TEST(CostsFile, IsReadAsItIsWritten) {
  MachineCosts costs;
  costs.shared_memory = {12345678901.25, 3.3e-7, 1.0 / 3 * 1e-6};
  costs.loopback.latency_seconds = 0;
  costs.cache_bytes = 1 << 20;
  const auto read = parse_costs(to_toml({costs, {}}), "costs.toml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->costs, costs);
  EXPECT_TRUE(read->routes.empty());
}

constexpr const char* kRoutes = R"(
[[route]]
transport = "tcp"
ranks = 4
operation = "broadcast"
bytes = 4096
route = "hierarchical:2tx2"

[[route]]
transport = "shm"
ranks = 5
operation = "all-reduce"
bytes = 262144
route = "rings:2"
piece = 131072
)";

TEST(CostsFile, HasRoutesThatAreReadAsTheyAreWritten) {
  const auto read = parse_costs(kRoutes, "costs.toml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->routes.all().size(), 2u);
  const auto& [first, first_way] = *read->routes.all().begin();
  const auto& [last, last_way] = *read->routes.all().rbegin();
  EXPECT_EQ(first.key(), std::tuple(false, 4u, Operation::kBroadcast, 4096u));
  EXPECT_EQ(first_way.plan.name(), "hierarchical:2tx2");
  EXPECT_EQ(first_way.piece_bytes, 0u);
  EXPECT_EQ(last.key(), std::tuple(true, 5u, Operation::kAllReduce, 262144u));
  EXPECT_EQ(last_way.plan.rings.size(), 2u);
  EXPECT_EQ(last_way.piece_bytes, 131072u);
  const std::string text = to_toml(*read);
  const auto again = parse_costs(text, "again.toml");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(to_toml(*again), text);
  EXPECT_EQ(again->routes.digest(), read->routes.digest());
}

TEST(CostsFile, LeavesWhatItDoesNotSay) {
  const auto read = parse_costs("[loopback]\nmessage_seconds = 2e-6\n", "costs.toml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  MachineCosts expected;
  expected.loopback.message_seconds = 2e-6;
  EXPECT_EQ(read->costs, expected);
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
  EXPECT_NE(message("[disk]\n").find("expected shared_memory, loopback, core, route"), std::string::npos);
  EXPECT_NE(message("loopback = 3\n").find("expected [loopback]"), std::string::npos);
  EXPECT_NE(message("[loopback]\nbytes_per_second = 0\n").find("2:20: bytes_per_second"), std::string::npos);
  EXPECT_NE(message("[loopback]\nbytes_per_second = nan\n").find("bytes_per_second"), std::string::npos);
  EXPECT_NE(message("[loopback\n").find("costs.toml:1:"), std::string::npos);
  EXPECT_NE(message(std::string(kCostsBytesMax + 1, '#')).find("at most"), std::string::npos);
}

// What is said of `kRoutes` with `before` replaced by `after`.
std::string message_with(const std::string& before, const std::string& after) {
  std::string text = kRoutes;
  text.replace(text.find(before), before.size(), after);
  const auto read = parse_costs(text, "costs.toml");
  EXPECT_EQ(read.status().code(), Code::kConfig) << text;
  return read.status().message();
}

TEST(CostsFile, SaysWhatIsWrongWithARoute) {
  EXPECT_EQ(message_with("\"tcp\"", "\"ucx\""),
            "costs.toml:3:13: transport 'ucx' is unknown; expected shm or tcp");
  EXPECT_EQ(message_with("bytes = 4096\n", ""), "costs.toml:2:1: [[route]] has no 'bytes'; expected one");
  EXPECT_NE(message_with("bytes = 4096", "bytes = 0").find("6:9: bytes is 0; expected 1 to"),
            std::string::npos);
  EXPECT_NE(message_with("ranks = 4", "ranks = 1").find("ranks is 1; expected 2 or more"), std::string::npos);
  EXPECT_NE(message_with("ranks = 4", "ranks = 2000").find("expected 1 to 1024"), std::string::npos);
  EXPECT_NE(message_with("piece = 131072", "piece = -1").find("piece is -1; expected 1 to"),
            std::string::npos);
  EXPECT_NE(message_with("piece = 131072", "pieces = 1").find("[[route]] has no 'pieces'"),
            std::string::npos);
  EXPECT_NE(message_with("\"broadcast\"", "\"barrier\"").find("expected one of all-reduce, reduce-scatter"),
            std::string::npos);
  EXPECT_NE(message_with("ranks = 5", "ranks = \"5\"").find("expected a whole number"), std::string::npos);
  EXPECT_NE(message_with("[[route]]", "[route]").find("costs.toml:"), std::string::npos);
  EXPECT_EQ(parse_costs("route = 3\n", "costs.toml").status().message(),
            "costs.toml:1:9: route is no list of tables; expected [[route]]");
  std::string many = kRoutes;
  EXPECT_NE(message_with("\n[[route]]\ntransport = \"tcp\"", many + many + "\n[[route]]\ntransport = \"tcp\"")
                .find("a second route for broadcast of 4096 bytes among 4 ranks"),
            std::string::npos);
  many = "\n";
  for (std::size_t i = 0; i <= kMeasuredRoutesMax; ++i) many += "[[route]]\n";
  EXPECT_NE(message_with("\n", many).find("expected at most 1024"), std::string::npos);
}

// Not with a crash when a group comes to it.
TEST(CostsFile, RefusesRoutesThatSuchAGroupCannotTake) {
  const auto why = [](const std::string& route) { return message_with("hierarchical:2tx2", route); };
  EXPECT_NE(why("circle").find("costs.toml:7:9: route 'circle' is unknown"), std::string::npos);
  EXPECT_NE(why("hierarchical:3x2").find("must multiply to the 4 ranks"), std::string::npos);
  EXPECT_NE(why("hierarchical").find("hierarchical"), std::string::npos);
  EXPECT_NE(why("packed-trees").find("which a group does not know"), std::string::npos);
  EXPECT_NE(why("servers:2").find("its servers contribute nothing"), std::string::npos);
  EXPECT_NE(why("shared").find("expected transport \"shm\""), std::string::npos);
  EXPECT_NE(why(std::string(300, 'x')).find("300 letters; expected at most 256"), std::string::npos);
  EXPECT_NE(message_with("rings:2", "rings:30").find("5 ranks have 4 rings"), std::string::npos);
  EXPECT_NE(message_with("ranks = 5\noperation = \"all-reduce\"\nbytes = 262144\nroute = \"rings:2\"",
                         "ranks = 31\noperation = \"all-reduce\"\nbytes = 262144\nroute = \"rings:9\"")
                .find("takes 9 channels; expected at most 8"),
            std::string::npos);
}

}  // namespace
}  // namespace thalweg
