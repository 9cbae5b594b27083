#include "cli/work/seed_runs.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(SeedRuns, ABrokenPromiseIsToldWithTheCommandThatShowsTheLeastOfIt) {
  SeedRuns runs;
  sim::RunReport failed;
  failed.seed = 17;
  failed.events = 9000;
  failed.violation = "[ends] the whole";
  failed.plan = "sync, servers 4";
  add(runs, failed);
  EXPECT_NE(runs.status("thalweg simulate faults --copies")
                .message()
                .find("replay it with: thalweg simulate faults --copies --replay 17 --trace"),
            std::string::npos);
  EXPECT_FALSE(runs.to_json(nlohmann::ordered_json::object()).contains("reduced"));
  failed.events = 70;
  failed.violation = "[ends] the small one";
  failed.plan = "sync, servers 1";
  runs.smaller = SeedRuns::Smaller{failed, "drop,servers=1", 40};
  const std::string text = runs.status("thalweg simulate faults --copies").message();
  for (const char* what :
       {"after 9000 events", "[ends] the whole", "found in 40 tries, after 70 events", "[ends] the small one",
        "sync, servers 1", "thalweg simulate faults --copies --replay 17 --reduced drop,servers=1 --trace"})
    EXPECT_NE(text.find(what), std::string::npos) << text;
  EXPECT_EQ(runs.to_json(nlohmann::ordered_json::object())["reduced"]["reduced"], "drop,servers=1");
}

}  // namespace
}  // namespace thalweg
