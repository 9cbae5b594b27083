#include "net/etcd/etcd_message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "net/etcd/curl_library.h"
#include "net/etcd/etcd_place.h"
#include "net/etcd/etcd_value.h"

namespace thalweg {
namespace {

constexpr std::string_view kHead = R"("header":{"cluster_id":"18446744073709551615","revision":"12"})";

std::string with_head(std::string_view rest) { return "{" + std::string(kHead) + std::string(rest) + "}"; }

TEST(EtcdMessage, ReadsRanges) {
  const auto read = etcd::read_range(with_head(
      R"(,"kvs":[{"key":"YQ==","value":"AP8=","mod_revision":"7","version":"1"},{"key":"Yg=="}],"more":true)"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->header.cluster, ~std::uint64_t{0});
  EXPECT_EQ(read->header.revision, 12u);
  ASSERT_EQ(read->found.size(), 2u);
  EXPECT_EQ(read->found[0].key, "a");
  EXPECT_EQ(read->found[0].value, std::string("\0\xff", 2));
  EXPECT_EQ(read->found[0].revision, 7u);
  EXPECT_EQ(read->found[1].value, "");
  EXPECT_TRUE(read->more);
}

TEST(EtcdMessage, ReadsWhatHasHappened) {
  const auto read = etcd::read_watch("{\"result\":" + with_head(R"(,"created":true,"events":[
      {"kv":{"key":"YQ==","value":"YQ=="}},{"type":"DELETE","kv":{"key":"YQ==","mod_revision":9}}])") +
                                     "}");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->header.revision, 12u);
  EXPECT_TRUE(read->created);
  ASSERT_EQ(read->events.size(), 2u);
  EXPECT_FALSE(read->events[0].gone);
  EXPECT_TRUE(read->events[1].gone);
  EXPECT_EQ(read->events[1].entry.revision, 9u);
  const auto renewal = etcd::read_renewal("{\"result\":" + with_head(R"(,"ID":"5","TTL":"2")") + "}");
  ASSERT_TRUE(renewal.ok()) << renewal.status().message();
  EXPECT_EQ(renewal->seconds, 2);
}

TEST(EtcdMessage, SaysWhatIsNotAsExpected) {
  const auto says = [](const Status& status, std::string_view what) {
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  };
  says(etcd::read_range("").status(), "is no etcd: ''");
  says(etcd::read_range("[1]").status(), "is no etcd");
  says(etcd::read_range("{\"kvs\":[").status(), "is no etcd");
  says(etcd::read_range(with_head(R"(,"kvs":{})")).status(), "'kvs' is not a list");
  says(etcd::read_range(with_head(R"(,"kvs":[3])")).status(), "'key' is not in an object");
  says(etcd::read_range(with_head(R"(,"kvs":[{"key":"YQ"}])")).status(), "'key' is not base64");
  says(etcd::read_range(with_head(R"(,"kvs":[{"key":7}])")).status(), "'key' is not a text");
  says(etcd::read_range(with_head(R"(,"kvs":[{"mod_revision":"-1"}])")).status(),
       "'mod_revision' is not a number");
  says(etcd::read_range(with_head(R"(,"more":"yes")")).status(), "'more' is not true or false");
  says(etcd::read_range(R"({"header":3})").status(), "'header' is not an object");
  says(etcd::read_grant(with_head("")).status(), "'ID' is not a lease");
  says(etcd::read_swap(R"({"error":{"grpc_code":13,"message":"broken"}})").status(), "etcd says: broken");
}

TEST(EtcdMessage, ErrorsSayWhatMayBeDone) {
  const auto code = [](std::string_view body) { return etcd::error_of(400, body).code(); };
  EXPECT_EQ(code(R"({"message":"requested lease not found","code":5})"), Code::kRefused);
  EXPECT_EQ(code(R"({"message":"required revision has been compacted","code":11})"), Code::kStale);
  EXPECT_EQ(code(R"({"message":"etcdserver: too many operations in txn request","code":3})"), Code::kUsage);
  EXPECT_EQ(code(R"({"error":"etcdserver: leader changed","code":14})"), Code::kIo);
  EXPECT_EQ(code(R"({"error":{"grpc_code":16,"message":"invalid auth token"}})"), Code::kUsage);
  EXPECT_EQ(code(R"_({"message":"received message larger than max (5 vs. 4)","code":8})_"), Code::kRetry);
  EXPECT_EQ(code(R"({"message":"mvcc: database space exceeded","code":8})"), Code::kIo);
  EXPECT_EQ(code("bad gateway"), Code::kIo);
}

TEST(EtcdMessage, ManyOperationsAreGrouped) {
  const std::vector<std::string> many(etcd::kGroupOperations * 2 + 1, etcd::delete_of("a", {}));
  const auto json =
      nlohmann::json::parse(etcd::swap_request({etcd::guard_of("k", 3)}, many, {etcd::look_of("k")}));
  ASSERT_EQ(json["success"].size(), 3u);
  EXPECT_EQ(json["success"][0]["request_txn"]["success"].size(), etcd::kGroupOperations);
  EXPECT_EQ(json["success"][2]["request_txn"]["success"].size(), 1u);
  EXPECT_EQ(json["compare"][0]["mod_revision"], "3");
  EXPECT_EQ(etcd::end_of_prefix("a\xff\xff"), "b");
}

TEST(EtcdValue, IsInPiecesOrNot) {
  const std::string value(etcd::kPieceBytes + 1, 'x');
  const etcd::Pieces pieces = etcd::pieces_of(7, value);
  EXPECT_EQ(pieces.count, 2u);
  EXPECT_EQ(etcd::piece(value, 1), "x");
  EXPECT_TRUE(is_whole(pieces, value));
  EXPECT_FALSE(is_whole(pieces, value.substr(1) + "y"));
  EXPECT_EQ(etcd::decode_kept(etcd::encode_pieces(pieces))->pieces, pieces);
  EXPECT_EQ(etcd::decode_kept("=@a")->value, "@a");
  for (const std::string_view bad :
       {"", "x", "@", "@0000000000000007.2.524289", "@0000000000000007.3.524289.00",
        "@0000000000000007.0.0.0000000000000000", "@7.1.1.0000000000000000 "})
    EXPECT_FALSE(etcd::decode_kept(bad)) << bad;
}

TEST(EtcdPlace, IsWhatPeopleWrite) {
  const auto place = parse_etcd_place("etcd://a:1,[::1]:2379/jobs/ctr/");
  ASSERT_TRUE(place.ok()) << place.status().message();
  EXPECT_EQ(place->endpoints, (std::vector<std::string>{"http://a:1", "http://[::1]:2379"}));
  EXPECT_EQ(place->prefix, "jobs/ctr");
  EXPECT_EQ(parse_etcd_place("etcds://a:1/x", {"ca", "c", "k"})->endpoints.front(), "https://a:1");
  const auto refused = [](std::string_view text, std::string_view why, const StateTls& tls = {}) {
    const Status status = parse_etcd_place(text, tls).status();
    EXPECT_EQ(status.code(), Code::kUsage) << text;
    EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  };
  refused("etcd://a:1", "no prefix");
  refused("etcd://a:1/", "no prefix");
  refused("etcd:///x", "'' is no address");
  refused("etcd://a/x", "'a' is no address");
  refused("etcd://a:1,/x", "'' is no address");
  refused("etcd://a:1/x y", "the prefix is not of");
  refused("etcd://a:1/x//y", "the prefix is not of");
  refused("etcd://a:1/x", "certificates are for etcds://", {"ca", "", ""});
  refused("etcds://a:1/x", "a certificate needs its key", {"", "cert", ""});
  EXPECT_FALSE(is_etcd_place("some/folder"));
}

TEST(CurlLibrary, SaysWhatToInstall) {
  const Status status = CurlLibrary::load("libno-curl.so.9").status();
  EXPECT_EQ(status.code(), Code::kUsage);
  EXPECT_NE(status.message().find("install the Debian package libcurl4"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace thalweg
