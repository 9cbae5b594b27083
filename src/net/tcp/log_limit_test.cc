#include "net/tcp/log_limit.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

using std::chrono_literals::operator""s;
using Lines = std::vector<std::string>;

TEST(LogLimit, SaysTheFirstOfEachMinuteAndCountsTheRest) {
  Lines said;
  const auto log = [&](const std::string& line) { said.push_back(line); };
  LogLimit limit("peers lost", 2);
  Instant now{};
  for (int i = 0; i < 5; ++i) limit.say(now = now + 1s, "peer " + std::to_string(i), log);
  EXPECT_EQ(said, (Lines{"peer 0", "peer 1"}));
  limit.look(now + 55s, log);
  EXPECT_EQ(said.size(), 2u);
  limit.look(now + 56s, log);
  EXPECT_EQ(said, (Lines{"peer 0", "peer 1", "3 more peers lost"}));
  limit.look(now + 500s, log);
  limit.say(now + 500s, "peer 5", log);
  limit.flush(log);
  EXPECT_EQ(said, (Lines{"peer 0", "peer 1", "3 more peers lost", "peer 5"}));
}

TEST(LogLimit, ANewMinuteBeginsWithTheCountOfTheLast) {
  Lines said;
  const auto log = [&](const std::string& line) { said.push_back(line); };
  LogLimit limit("peers lost", 1);
  for (const char* peer : {"peer 0", "peer 1"}) limit.say(Instant{}, peer, log);
  limit.say(Instant{} + 61s, "peer 2", log);
  limit.say(Instant{} + 62s, "peer 3", log);
  limit.flush(log);
  EXPECT_EQ(said, (Lines{"peer 0", "1 more peers lost", "peer 2", "1 more peers lost"}));
}

}  // namespace
}  // namespace thalweg
