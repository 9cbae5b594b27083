#include "cli/train_job.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/test_path.h"

namespace thalweg {
namespace {

// A cluster whose scheduler was told, by whomever, that the job has ended well.
struct EndedCluster final : Cluster {
  bool wait(Duration) override { return true; }
  Status status() override { return Status::ok(); }
  ClusterView view() override { return {}; }
  std::string missing() override { return {}; }
  void close() override {}
  void stop(const Status&) override {}
};

TEST(TrainJob, AModelThatWasNotCollectedIsNoSuccess) {
  const std::string rows = test_path("train_job.svm");
  const std::string model = test_path("train_job_model");
  std::ofstream(rows) << "1 1:1\n0 2:1\n";
  const std::vector<std::string> words = {"train", rows, "--out", model, "--json"};
  const Result<CommandLine> line = parse_command_line(program_commands(), words);
  ASSERT_TRUE(line.is_ok());
  const Result<Options> options = resolve(*line, {});
  ASSERT_TRUE(options.is_ok());
  std::FILE* results = std::tmpfile();
  std::FILE* people = std::tmpfile();
  Output out({.json = true}, results, people);
  auto job = TrainJob::create(*options, out);
  ASSERT_TRUE(job.is_ok()) << job.status().message();
  EndedCluster cluster;
  const Status status = (*job)->run(cluster, 1, 1);
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_NE(status.message().find("nothing is saved"), std::string::npos) << status.message();
  EXPECT_TRUE(out.finish().is_ok());
  EXPECT_EQ(std::ftell(results), 0) << "a summary was written";
  std::fclose(results);
  std::fclose(people);
  std::remove(rows.c_str());
}

}  // namespace
}  // namespace thalweg
