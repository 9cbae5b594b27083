#include "exchange/route/route.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "exchange/plan/layout.h"
#include "topology/room_for_test.h"

namespace thalweg {
namespace {

TEST(Route, NamesAreOneRoutesEach) {
  std::set<std::string> names;
  std::set<std::uint32_t> ids;
  for (const Route* route : routes::all()) {
    for (const char* name : {route->name, route->alias, route->former}) {
      if (!name) continue;
      EXPECT_TRUE(names.insert(name).second) << name;
      const auto plan = parse_route(name);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_EQ(plan->route, route) << name;
    }
    EXPECT_TRUE(ids.insert(route->id).second) << route->name;
    EXPECT_EQ(find_route(route->id), route);
    EXPECT_TRUE(route->add_lanes && (route->seconds || route->in_memory)) << route->name;
  }
  EXPECT_EQ(find_route(0), nullptr);
}

TEST(Route, IsCalledByItsPresentNameWhateverItWasAskedFor) {
  EXPECT_EQ(parse_route("gpu0")->name(), "star");
  EXPECT_EQ(parse_route("cpu")->name(), "servers:1");
  const Topology room = room_of("pcie-box");
  const Demand demand{.bytes = 1000, .ranks = 3};
  EXPECT_EQ(lay_out(room, demand, "gpu0")->route, "star");
  EXPECT_EQ(lay_out(room, demand, "cpu")->route, "cpu");
  EXPECT_EQ(parse_route("gpu0:2").status().message(), "route 'gpu0:2': expected gpu0 alone");
  EXPECT_EQ(parse_route("wheel").status().message().find("gpu0"), std::string::npos);
}

// As docs/exchange.md has it: "| `servers:n`, `cpu` | the last n ranks own parts ... |".
TEST(Route, TheDocumentationSaysWhichWayEachGoes) {
  std::ifstream file(THALWEG_SOURCE_DIR "/docs/exchange.md");
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) rows.insert(line);
  }
  for (const Route* route : routes::all()) {
    const std::string name = std::string("| `") + route->name;
    std::size_t found = 0;
    for (const std::string& row : rows) {
      const bool is_it = row.starts_with(name + "`") || row.starts_with(name + ":");
      if (!is_it) continue;
      ++found;
      EXPECT_NE(row.find(std::string("| ") + route->summary + " |"), std::string::npos) << row;
      if (!route->alias) continue;
      EXPECT_NE(row.find(std::string("`") + route->alias + "`"), std::string::npos) << row;
    }
    EXPECT_EQ(found, 1U) << route->name;
  }
}

}  // namespace
}  // namespace thalweg
