// thalweg topo bench from outside: what it writes is what it tells, and what groups can read.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/path_for_test.h"
#include "cli/run_for_test.h"
#include "exchange/costs/costs_file.h"
#include "exchange/levels/level_lanes.h"

namespace thalweg {
namespace {

TEST(TopoBench, MeasuresWhatThisMachineTakes) {
  const std::string path = test_path("costs.toml");
  const Ran measured = run("topo bench --transport inproc --json --costs " + path);
  ASSERT_EQ(measured.code, 0) << measured.err;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const auto costs = parse_costs(text.str(), path);
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  const nlohmann::json told = nlohmann::json::parse(measured.out)["costs"];
  each_cost(costs->costs, [&told](const char* part, const char* key, double value, auto) {
    EXPECT_EQ(told[part][key].get<double>(), value) << part << "." << key;
  });
  EXPECT_NE(costs->costs, MachineCosts{});
  EXPECT_EQ(run("bench exchange --transport shm --bytes 4K --iterations 1 --costs " + path).code, 0);
  EXPECT_EQ(run("bench exchange --transport shm --bytes 4K --iterations 1 --costs /nowhere").code, 3);
  std::remove(path.c_str());
}

// What there is no time for is left, but of the smallest vectors there is.
TEST(TopoBench, MeasuresRoutesAndKeepsTheFastest) {
  const std::string path = test_path("measured.toml");
  const Ran measured =
      run("topo bench --transport inproc --routes 2 --routes-limit 10s --json --costs " + path);
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_NE(measured.err.find("timing all routes at 90 points, for at most 10 s"), std::string::npos);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const auto figures = parse_costs(text.str(), path);
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  const nlohmann::json told = nlohmann::json::parse(measured.out);
  EXPECT_GT(figures->routes.all().size(), 0u);
  EXPECT_EQ(told["routes"].size(), figures->routes.all().size());
  EXPECT_EQ(told["points_left"].get<std::size_t>(), 90 - figures->routes.all().size());
  for (const auto& row : told["routes"]) {
    const MeasuredPoint point{row["transport"] == "shm", row["ranks"],
                              *parse_operation(row["operation"].get<std::string>()), row["bytes"]};
    const auto kept = figures->routes.all().find(point);
    ASSERT_NE(kept, figures->routes.all().end()) << row;
    EXPECT_EQ(kept->second.plan.name(), row["route"]);
    EXPECT_LE(row["seconds"], row["second_seconds"]);
    // All routes between two ranks from one root are the same exchange, whole or in pieces.
    if (!point.shares_memory && is_rooted(point.operation)) {
      EXPECT_EQ(row["second"], row["route"]) << row;
    }
  }
  EXPECT_EQ(run("bench exchange --transport shm --bytes 4K --iterations 1 --costs " + path).code, 0);
  for (const char* wrong : {"1", "2,,4", "2,", "x", "65", "2;4", ""})
    EXPECT_EQ(run(std::string("topo bench --routes='") + wrong + "'").code, 2) << wrong;
  std::remove(path.c_str());
}

}  // namespace
}  // namespace thalweg
