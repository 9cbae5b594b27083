// What a request cannot mean is refused by the name of what was given, before anything is done.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

class RefusedRequests : public testing::Test {
 protected:
  // Of a request that ends so, and says so.
  static void refuses(const std::string& request, int code, const std::string& why) {
    const Ran ran = run(request);
    EXPECT_EQ(ran.code, code) << request << "\n" << ran.err;
    EXPECT_NE(ran.err.find(why), std::string::npos) << request << "\n" << ran.err;
  }
  std::string rows(const std::string& name = "rows.svm") const {
    return folder_.write(name, "1 1:1 2:1\n0 2:1 3:1\n1 1:1\n0 3:1\n");
  }
  const TemporaryFolder folder_;
};

TEST_F(RefusedRequests, VariablesOfRanksAreNoOptions) {
  const Ran ran = run("version", "THALWEG_COSTS_FILE=/costs.toml");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran rank = run("run -n 1 -- sh -c 'echo $THALWEG_COSTS_FILE'", "THALWEG_COSTS_FILE=/costs.toml");
  EXPECT_EQ(rank.out, "/costs.toml\n") << rank.err;
}

}  // namespace
}  // namespace thalweg
