#include "net/tcp/log_limit.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

using std::chrono_literals::operator""s;
using Lines = std::vector<std::string>;

TcpEvent lost(std::uint32_t worker) {
  TcpEvent event;
  event.kind = TcpEvent::Kind::kLost;
  event.peer = worker_node(worker);
  event.reason = "gone";
  return event;
}

TEST(LogLimit, SaysTheFirstOfEachMinuteAndCountsTheRest) {
  Lines said;
  const auto log = [&](const TcpEvent& event) { said.push_back(to_text(event)); };
  LogLimit limit(TcpEvent::Kind::kLost, 2);
  Instant now{};
  for (std::uint32_t i = 0; i < 5; ++i) limit.say(now = now + 1s, lost(i), log);
  EXPECT_EQ(said, (Lines{"lost worker-0: gone", "lost worker-1: gone"}));
  limit.look(now + 55s, log);
  EXPECT_EQ(said.size(), 2u);
  limit.look(now + 56s, log);
  EXPECT_EQ(said, (Lines{"lost worker-0: gone", "lost worker-1: gone", "3 more peers lost"}));
  limit.look(now + 500s, log);
  limit.say(now + 500s, lost(5), log);
  limit.flush(log);
  EXPECT_EQ(said, (Lines{"lost worker-0: gone", "lost worker-1: gone", "3 more peers lost",
                         "lost worker-5: gone"}));
}

TEST(LogLimit, ANewMinuteBeginsWithTheCountOfTheLast) {
  Lines said;
  const auto log = [&](const TcpEvent& event) { said.push_back(to_text(event)); };
  LogLimit limit(TcpEvent::Kind::kLost, 1);
  for (const std::uint32_t worker : {0u, 1u}) limit.say(Instant{}, lost(worker), log);
  limit.say(Instant{} + 61s, lost(2), log);
  limit.say(Instant{} + 62s, lost(3), log);
  limit.flush(log);
  EXPECT_EQ(said,
            (Lines{"lost worker-0: gone", "1 more peers lost", "lost worker-2: gone", "1 more peers lost"}));
}

}  // namespace
}  // namespace thalweg
