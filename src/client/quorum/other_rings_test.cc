#include "client/quorum/other_rings.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

const QuorumRing kRing{{"127.0.0.1:1", "127.0.0.1:2"}, {}, "", false};

TcpEvent call_of(NodeId node, TcpCause cause, const std::string& told) {
  TcpEvent event{TcpEvent::Kind::kClosed, node, "127.0.0.1:50000", {"it is another", cause}};
  event.reason.told = told;
  return event;
}

TEST(OtherRings, NamesBothRingsOnceAndThenRarely) {
  const std::string here = ring_words(kRing, 2, 2, 2, false);
  OtherRings rings(kRing.nodes, here);
  const TcpEvent event = call_of(server_node(1), TcpCause::kCluster, ring_words(kRing, 2, 1, 2, true));
  Instant now{};
  EXPECT_EQ(rings.line_of(now, event),
            "server-1 at 127.0.0.1:2 was told another ring: N,R,W 2,1,2 sloppy of 127.0.0.1:1,127.0.0.1:2; "
            "this node: N,R,W 2,2,2 of 127.0.0.1:1,127.0.0.1:2; all nodes of a ring are to be told the same "
            "nodes, in the same order, and the same counts");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rings.line_of(now = now + 5s, event), "");
  TcpEvent dialled = event;
  dialled.kind = TcpEvent::Kind::kUnreached;
  EXPECT_EQ(rings.line_of(now, dialled), "") << "it is the same news, whoever calls";
  TcpEvent rest{TcpEvent::Kind::kRefused, {}, "", {"", TcpCause::kCluster}};
  rest.more = 12;
  EXPECT_EQ(rings.line_of(now, rest), "");
  EXPECT_NE(rings.line_of(now, call_of(server_node(1), TcpCause::kCluster, "N,R,W 1,1,1 of x:1")), "")
      << "it has been told something else";
  EXPECT_NE(rings.line_of(now + OtherRings::kSaidEvery, event), "");
}

TEST(OtherRings, SaysOnceWhoIsElsewhereFromWhateverPortItCalls) {
  OtherRings rings(kRing.nodes, "here");
  TcpEvent event = call_of(server_node(1), TcpCause::kPlace, "");
  EXPECT_TRUE(rings.line_of(Instant{}, event).starts_with(to_text(event) + "; all nodes of a ring "));
  event.where = "127.0.0.1:50001";
  EXPECT_EQ(rings.line_of(Instant{} + 5s, event), "");
}

TEST(OtherRings, SaysOfClientsAndStrangersWhatTheDriverSays) {
  OtherRings rings(kRing.nodes, "here");
  for (int i = 0; i < 2; ++i) {
    const TcpEvent stranger{TcpEvent::Kind::kClosed, {}, "127.0.0.1:50000", {"no greeting"}};
    EXPECT_EQ(rings.line_of(Instant{}, stranger), log_line(stranger));
    const TcpEvent client = call_of(worker_node(3), TcpCause::kPlace, "");
    EXPECT_EQ(rings.line_of(Instant{}, client), log_line(client));
  }
}

}  // namespace
}  // namespace thalweg
