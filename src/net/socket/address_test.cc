#include "net/socket/address.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(Address, Parses) {
  const auto v4 = parse_host_port("127.0.0.1:7100");
  ASSERT_TRUE(v4.ok());
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, "7100");
  const auto v6 = parse_host_port("[::1]:0");
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v6->host, "::1");
}

TEST(Address, RefusesAndSaysWhatIsExpected) {
  for (const char* text :
       {"", "localhost", ":1", "[]:1", "::1:80", "host:", "host:65536", "host:-1", "h:1x"}) {
    const auto parsed = parse_host_port(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::kUsage);
    EXPECT_NE(parsed.status().message().find("expected HOST:PORT"), std::string::npos);
  }
}

TEST(Address, NamesWhatStandsForAllAddresses) {
  const auto parsed = parse_host_port("*:7100");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.status().message().find("0.0.0.0 or [::]"), std::string::npos)
      << parsed.status().message();
}

TEST(Address, KnowsLoopback) {
  EventLoop loop;
  const auto is_local = [&](const std::string& host) {
    bool local = false;
    loop.resolve(host, "80", [&](const Result<std::vector<SocketAddress>>& found) {
      ASSERT_TRUE(found.ok()) << found.status().message();
      local = is_loopback(found.value().at(0));
      EXPECT_EQ(port_of(found.value().at(0)), 80);
    });
    return local;
  };
  EXPECT_TRUE(is_local("127.0.0.1"));
  EXPECT_TRUE(is_local("127.3.2.1"));
  EXPECT_TRUE(is_local("::1"));
  EXPECT_TRUE(is_local("::ffff:127.0.0.1"));
  EXPECT_FALSE(is_local("0.0.0.0"));
  EXPECT_FALSE(is_local("10.0.0.1"));
  EXPECT_FALSE(is_local("::"));
  EXPECT_FALSE(is_local("::ffff:10.0.0.1"));
}

}  // namespace
}  // namespace thalweg
