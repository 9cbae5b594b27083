#include <gtest/gtest.h>

#include <map>
#include <string>

#include "thalweg/group.h"
#include "thalweg/group_options.h"

namespace thalweg {
namespace {

using Environment = std::map<std::string, std::string>;

Result<GroupOptions> options_in(const Environment& environment) {
  return group_options_from([&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(GroupEnvironment, IsAGroupOfOneWithoutALauncher) {
  const Result<GroupOptions> options = options_in({{"PATH", "/bin"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rank, 0u);
  EXPECT_EQ(options->size, 1u);
}

TEST(GroupEnvironment, ReadsWhatTorchrunSets) {
  const Result<GroupOptions> options = options_in({{"RANK", "3"},
                                                   {"WORLD_SIZE", "8"},
                                                   {"LOCAL_RANK", "1"},
                                                   {"MASTER_ADDR", "10.0.0.7"},
                                                   {"MASTER_PORT", "29555"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rank, 3u);
  EXPECT_EQ(options->size, 8u);
  EXPECT_EQ(options->master_host, "10.0.0.7");
  EXPECT_EQ(options->master_port, 29555);
}

TEST(GroupEnvironment, NamesWhatTheMachineTakes) {
  const Result<GroupOptions> options = options_in({{"THALWEG_COSTS_FILE", "/etc/costs.toml"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->costs_file, "/etc/costs.toml");
  GroupOptions missing;
  missing.costs_file = "/nowhere/costs.toml";
  const auto group = Group::join(missing);
  EXPECT_EQ(group.status().code(), Code::kConfig);
  EXPECT_NE(group.status().message().find("/nowhere/costs.toml: cannot be read"), std::string::npos);
}

// What mpirun of Open MPI 4.1 sets, in part.
TEST(GroupEnvironment, ReadsWhatOpenMpiSets) {
  const Result<GroupOptions> options = options_in({{"OMPI_COMM_WORLD_SIZE", "4"},
                                                   {"OMPI_COMM_WORLD_RANK", "2"},
                                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                                   {"PMIX_RANK", "2"},
                                                   {"PMIX_NAMESPACE", "4159832065"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rank, 2u);
  EXPECT_EQ(options->size, 4u);
  EXPECT_EQ(options->master_host, "127.0.0.1");
}

// What srun of Slurm 22.05 sets, in part.
TEST(GroupEnvironment, ReadsWhatSlurmSets) {
  Environment slurm = {{"SLURM_PROCID", "5"},
                       {"SLURM_NTASKS", "6"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NODEID", "2"},
                       {"SLURM_JOB_ID", "1044"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_NNODES", "3"},
                       {"SLURM_NODELIST", "cn[007-008,11]"},
                       {"SLURM_TASKS_PER_NODE", "2(x3)"}};
  const Result<GroupOptions> options = options_in(slurm);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->rank, 5u);
  EXPECT_EQ(options->size, 6u);
  EXPECT_EQ(options->master_host, "cn007");
  for (const auto& [list, first] : Environment{{"node1", "node1"},
                                               {"login,cn[1-2]", "login"},
                                               {"cn[5],x", "cn5"},
                                               {"rack[2-3]-a,b", "rack2-a"},
                                               {"cn[09,11-12]", "cn09"}}) {
    slurm["SLURM_NODELIST"] = list;
    EXPECT_EQ(options_in(slurm)->master_host, first) << list;
  }
  slurm["MASTER_ADDR"] = "elsewhere";
  EXPECT_EQ(options_in(slurm)->master_host, "elsewhere");
}

TEST(GroupEnvironment, NamesTheVariableThatIsWrong) {
  const auto message = [](const Environment& environment) {
    return options_in(environment).status().message();
  };
  EXPECT_EQ(message({{"RANK", "1"}}), "RANK is set but WORLD_SIZE is not; expected both");
  EXPECT_EQ(message({{"WORLD_SIZE", "1"}}), "WORLD_SIZE is set but RANK is not; expected both");
  EXPECT_EQ(message({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), "RANK='4': expected a whole number from 0 to 3");
  EXPECT_EQ(message({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), "WORLD_SIZE=0: expected a rank or more");
  EXPECT_NE(message({{"RANK", "x"}, {"WORLD_SIZE", "4"}}).find("RANK='x'"), std::string::npos);
  EXPECT_NE(message({{"MASTER_PORT", "70000"}}).find("MASTER_PORT='70000'"), std::string::npos);
  EXPECT_NE(message({{"THALWEG_TRANSPORT", "ib"}}).find("THALWEG_TRANSPORT: transport 'ib'"),
            std::string::npos);
}

TEST(GroupEnvironment, AcceptsOtherMachinesOnlyWhenTold) {
  EXPECT_FALSE(options_in({})->insecure_no_auth);
  EXPECT_TRUE(options_in({{"THALWEG_INSECURE_NO_AUTH", "1"}})->insecure_no_auth);
  EXPECT_FALSE(options_in({{"THALWEG_INSECURE_NO_AUTH", "0"}})->insecure_no_auth);
  const Status odd = options_in({{"THALWEG_INSECURE_NO_AUTH", "maybe"}}).status();
  EXPECT_EQ(odd.code(), Code::kConfig);
  EXPECT_EQ(odd.message(), "THALWEG_INSECURE_NO_AUTH='maybe': expected 1 or 0");
}

TEST(GroupEnvironment, ReadsWhereTheSecretIs) {
  EXPECT_EQ(options_in({})->secret_file, "");
  EXPECT_EQ(options_in({{"THALWEG_SECRET_FILE", "/dev/fd/64"}})->secret_file, "/dev/fd/64");
}

TEST(GroupEnvironment, OwnPortGoesBeforeTheOneThatOthersUseToo) {
  EXPECT_EQ(options_in({{"MASTER_PORT", "29555"}})->listener, -1);
  const auto options =
      options_in({{"MASTER_PORT", "29555"}, {"THALWEG_MASTER_PORT", "29556"}, {"THALWEG_LISTENER", "65"}});
  EXPECT_EQ(options->master_port, 29556);
  EXPECT_EQ(options->listener, 65);
  EXPECT_NE(options_in({{"THALWEG_LISTENER", "x"}}).status().message().find("THALWEG_LISTENER='x'"),
            std::string::npos);
}

TEST(GroupEnvironment, ReadsTheTransport) {
  EXPECT_EQ(options_in({})->transport, GroupTransport::kAuto);
  EXPECT_EQ(options_in({{"THALWEG_TRANSPORT", "ucx"}})->transport, GroupTransport::kUcx);
}

}  // namespace
}  // namespace thalweg
