// What a server allows its dense tables, which are made whole.
#include <gtest/gtest.h>

#include "node/sent_frames_for_test.h"
#include "server/server.h"

namespace thalweg {
namespace {

// How server 0 of two ends whose table has 1000 rows of a float and one of state; nothing: it goes on.
std::optional<Status> end_with_room(std::uint64_t bytes) {
  wire::Map map;
  map.epoch = 1;
  TableSpec table;
  table.name = "layer";
  table.kind = TableSpec::Kind::kDense;
  table.rows = 1000;
  table.ranges = 4;
  table.rule.kind = RuleKind::kAdagrad;
  map.tables = {table};
  map.servers = {"", ""};
  map.by_hand = true;
  map.placement = first_placement(map.tables, 2);
  map.shards = {{0, 0}};
  ServerOptions options;
  options.table_bytes_max = bytes;
  SentFrames out;
  Server server(std::move(options));
  server.on_frame({}, kScheduler, make_frame(Op::kWelcome, encode(wire::Welcome{server_node(0), 7})), out);
  server.on_frame({}, kScheduler, make_frame(Op::kMap, encode(map)), out);
  return server.membership().stopped();
}

TEST(DenseRoom, IsThatOfRowsAndTheirState) {
  EXPECT_FALSE(end_with_room(4000).has_value());
  EXPECT_FALSE(end_with_room(0).has_value()) << "no limit";
  const std::optional<Status> refused = end_with_room(3999);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code(), Code::kData);
  EXPECT_NE(refused->message().find("is to keep 4000 bytes of dense tables"), std::string::npos)
      << refused->message();
}

}  // namespace
}  // namespace thalweg
