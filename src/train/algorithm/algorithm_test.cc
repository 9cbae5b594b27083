#include "train/algorithm/algorithm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "thalweg/wait_limit.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

TEST(Algorithms, AreConsistenciesByTheirNames) {
  const auto chosen = [](std::string_view text) {
    const auto algorithm = choose_algorithm(text);
    EXPECT_TRUE(algorithm) << text;
    return algorithm->consistency;
  };
  EXPECT_EQ(chosen("sync"), Consistency::sync());
  EXPECT_EQ(chosen("ssp:0"), Consistency::sync());
  EXPECT_EQ(chosen("ssp:1"), Consistency::bounded(1));
  EXPECT_EQ(chosen("ssp:4294967295"), Consistency::bounded(4294967295u));
  using Wait = std::pair<const char*, std::chrono::nanoseconds>;
  for (const auto& [text, wait] :
       {Wait("max-wait:50ms", 50ms), Wait("max-wait:0.5s", 500ms), Wait("max-wait:2min", 120s),
        Wait("max-wait:100us", 100us), Wait("max-wait:10us", 10us), Wait("max-wait:0.01ms", 10us),
        Wait("max-wait:3m", 180s), Wait("max-wait:10h", 10h)})
    EXPECT_EQ(wait_limit(chosen(text)), wait) << text;
  EXPECT_EQ(wait_limit(chosen("backup:2")), std::nullopt);
  EXPECT_EQ(chosen("async"), Consistency::async());
  EXPECT_EQ(chosen("softsync:15"), Consistency::softsync(15));
  EXPECT_EQ(chosen("backup:2"), Consistency::backup(2));
}

TEST(Algorithms, WhatIsNoneIsRefusedWithWhatWasExpected) {
  const auto refused = [](std::string_view text, std::string_view expected) {
    const auto algorithm = choose_algorithm(text);
    ASSERT_FALSE(algorithm) << text;
    EXPECT_EQ(algorithm.status().code(), Code::kUsage);
    EXPECT_NE(algorithm.status().message().find(expected), std::string::npos) << algorithm.status().message();
  };
  for (const char* unknown : {"", ":", "bsp", "SYNC", "synchronous", "help"})
    refused(unknown,
            "expected sync, ssp:S, max-wait:TIME, async, softsync:N, rudra:N, rudra-adv:N,tree=K, "
            "rudra-adv*:N,tree=K, backup:K, downpour:fetch=N,push=N");
  for (const char* numbered : {"sync:", "sync:1", "async:0"}) refused(numbered, "has nothing to set");
  for (const char* text : {"downpour:", "downpour:fetch", "downpour:fetch=0", "downpour:fetch=2,fetch=2",
                           "downpour:fetch=1.5", "downpour:pull=2", "downpour:fetch=2,"})
    refused(text, "expected downpour:fetch=N,push=N, where fetch is steps from one fetch");
  for (const char* text : {"fedavg:C=1.1", "fedavg:C=nan", "fedavg:E=0", "fedavg:drop=1"})
    refused(text, "expected fedavg:C=X");
  for (const char* text : {"dcasgd-a:", "dcasgd-a:mean=1", "dcasgd-a:mean=-0.1", "dcasgd-a:lambda=-1"})
    refused(text, "expected dcasgd-a:lambda=X,mean=M, where lambda is");
  refused("dcasgd-a:mean=1", "number from 0 to 0.999999");
  refused("dcasgd:mean=0.95", "expected dcasgd:lambda=X");
  refused("adpsgd:", "expected adpsgd[:ring|torus|exponential|complete|FILE]");
  refused("dpsgd", "expected dpsgd:ring|torus|exponential|complete|FILE");
  for (const char* text : {"ssp", "ssp:", "ssp:S", "ssp:-1", "ssp:1x", "ssp: 1", "ssp:1:2", "ssp:4294967296"})
    refused(text,
            "expected ssp:S, where S is steps that a shard may lead the slowest, a whole number from 0");
  for (const char* text : {"max-wait", "max-wait:3", "max-wait:0ms", "max-wait:ms", "max-wait:11h",
                           "max-wait:1us", "max-wait:9.99us", "max-wait:1d", "max-wait:nans"})
    refused(text,
            "expected max-wait:TIME, where TIME is how long a step waits at most once a shard has pushed to "
            "it, such as 50ms, a time from 10us to 10h");
  for (const char* text : {"softsync", "softsync:0", "softsync:65537"})
    refused(text, "expected softsync:N, where N is");
}

TEST(Algorithms, NumbersThatAreNotGivenAreTheirFallbacks) {
  const auto chosen = choose_algorithm("downpour:push=3");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->values.whole("push"), 3u);
  EXPECT_EQ(chosen->values.whole("fetch"), 1u);
  EXPECT_EQ(choose_algorithm("easgd:rho=0.5,tau=2")->values["rho"], 0.5);
  EXPECT_EQ(choose_algorithm("dcasgd-a")->values["lambda"], 2);
  EXPECT_EQ(choose_algorithm("dcasgd-a:lambda=1")->values["mean"], 0.95);
  EXPECT_EQ(choose_algorithm("dpsgd:some/file,odd")->values.word, "some/file,odd");
  EXPECT_EQ(choose_algorithm("adpsgd")->values.word, "ring");
  EXPECT_EQ(choose_algorithm("adpsgd:torus")->values.word, "torus");
}

TEST(Algorithms, EachIsExplainedAndSaysTruly) {
  const std::string table = explain_algorithms();
  std::set<std::string_view> names;
  for (const Algorithm* algorithm : algorithms()) {
    EXPECT_TRUE(names.insert(algorithm->name).second) << algorithm->name;
    for (const std::string& part : {spelling(*algorithm), std::string(algorithm->summary),
                                    std::string(algorithm->result), std::string(algorithm->paper)}) {
      EXPECT_FALSE(part.empty()) << algorithm->name;
      EXPECT_NE(table.find(part), std::string::npos) << part;
    }
    for (const AlgorithmNumber& number : algorithm->numbers)
      EXPECT_NE(table.find(number.summary), std::string::npos) << number.summary;
    EXPECT_TRUE(algorithm->make != nullptr || algorithm->group == Algorithm::Group::kUnused)
        << algorithm->name << ": a group exchanges what replicas have";
  }
}

}  // namespace
}  // namespace thalweg
