#include "net/tcp/hello.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg {
namespace {

TEST(Hello, CarriesWhatItsClusterWasTold) {
  Hello hello{server_node(1), server_node(2), 0xc1, 77};
  EXPECT_EQ(encode_hello(hello).size(), 28u);
  hello.told = "N,R,W 3,2,2\nof x";
  const Bytes bytes = encode_hello(hello);
  const auto heard = decode_hello(bytes.span());
  ASSERT_TRUE(heard) << heard.status().message();
  EXPECT_EQ(heard->from, hello.from);
  EXPECT_EQ(heard->incarnation, 77u);
  EXPECT_EQ(heard->told, "N,R,W 3,2,2?of x") << "what goes to a log is one line";
}

TEST(Hello, OfMoreThanItMayCarryIsNone) {
  const Hello hello{server_node(1), server_node(2), 0xc1, 77, std::string(kToldBytesMax + 5, 'x')};
  const Bytes bytes = encode_hello(hello);
  EXPECT_EQ(decode_hello(bytes.span())->told.size(), kToldBytesMax);
  std::vector<std::byte> longer(bytes.span().begin(), bytes.span().end());
  longer.push_back(std::byte{'x'});
  EXPECT_FALSE(decode_hello(longer));
  EXPECT_FALSE(decode_hello(bytes.span().first(27)));
}

}  // namespace
}  // namespace thalweg
