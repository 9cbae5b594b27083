#include "net/etcd/etcd_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "net/etcd/etcd_for_test.h"
#include "net/etcd/http_answers_for_test.h"
#include "net/real_clock.h"
#include "node/state_store_for_test.h"

namespace thalweg {
namespace {

class EtcdUnderTest final : public StoreUnderTest {
 public:
  explicit EtcdUnderTest(bool secure) : etcd_(secure), store_(etcd_.open()) {}
  StateStore& store() override { return *store_; }
  Duration lease_length() const override {
    return std::chrono::seconds(3);
  }  // A loaded machine renews it late.
  void let_pass(Duration time) override { std::this_thread::sleep_for(time); }
  void forget() override {
    const std::string newest = std::to_string(store_->get("")->revision);
    const auto body = etcd_.ask("/v3/kv/compaction", "{\"revision\":\"" + newest + "\"}");
    EXPECT_TRUE(body.ok()) << body.status().message();
  }
  bool there() const { return store_ != nullptr; }

 private:
  EtcdForTest etcd_;
  std::unique_ptr<EtcdStore> store_;
};

template <bool kSecure>
std::unique_ptr<StoreUnderTest> on_etcd() {
  auto etcd = std::make_unique<EtcdUnderTest>(kSecure);
  return etcd->there() ? std::move(etcd) : nullptr;
}

INSTANTIATE_TEST_SUITE_P(Etcd, StateStoreSuite,
                         testing::Values(StoreMaker{"Plain", on_etcd<false>},
                                         StoreMaker{"Tls", on_etcd<true>}),
                         [](const auto& test) { return test.param.name; });

Result<std::uint64_t> set_in(StateStore& store, const std::string& key, const std::string& value) {
  const StateChange change{key, value};
  return store.swap({}, std::span(&change, 1), 0);
}

std::string bytes_of_size(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// Keys of etcd's below the whole prefix, values and pieces.
std::size_t keys_in(const EtcdForTest& etcd) {
  auto http = HttpClient::make({});
  const std::string begin = etcd.place().prefix + "/";
  const auto answer =
      (*http)->post(etcd.address() + "/v3/kv/range",
                    etcd::range_request(begin, etcd::end_of_prefix(begin), 0, 0), std::chrono::seconds(9));
  return etcd::read_range(answer->body)->found.size();
}

TEST(EtcdStore, KeepsWhatOneRequestDoesNotTake) {
  const EtcdForTest etcd;
  const auto store = etcd.open();
  ASSERT_TRUE(store);
  const std::string first = bytes_of_size(9'000'001, 1), second = bytes_of_size(3 * etcd::kPieceBytes, 2);
  ASSERT_TRUE(set_in(*store, "job", first).ok());
  EXPECT_EQ(store->get("job")->entries.at("job").value, first);
  const auto revision = set_in(*store, "job", second);
  ASSERT_TRUE(revision.ok()) << revision.status().message();
  EXPECT_EQ(store->get("job")->entries.at("job").value, second);
  EXPECT_EQ(store->get("")->entries.at("job").revision, *revision);
  EXPECT_EQ(keys_in(etcd), 4u);  // None of the pieces before.
  ASSERT_TRUE(set_in(*store, "job", "small").ok());
  EXPECT_EQ(keys_in(etcd), 1u);
  const auto events = store->watch("", *revision - 1, std::chrono::seconds(1));
  ASSERT_TRUE(events.ok()) << events.status().message();
  EXPECT_EQ(events->front().change.value, second);  // As it was then.
  const StateChange gone{"job", std::nullopt};
  ASSERT_TRUE(store->swap({}, std::span(&gone, 1), 0).ok());
  EXPECT_EQ(keys_in(etcd), 0u);
}

TEST(EtcdStore, ChangesManyKeysTogetherOrNot) {
  const EtcdForTest etcd;
  const auto store = etcd.open();
  ASSERT_TRUE(store);
  std::vector<StateChange> changes;
  std::map<std::string, std::string> expected;
  for (std::size_t i = 0; i < EtcdStore::kKeysMax; ++i) {
    const std::string key = "report/" + std::to_string(i);
    changes.push_back({key, expected[key] = bytes_of_size(i % 50 == 0 ? 70'000 : 1'000 + i, i)});
  }
  const std::uint64_t revision = *set_in(*store, "term", "1");
  const StateGuard stale{"term", revision + 1}, holds{"term", revision};
  EXPECT_EQ(store->swap(std::span(&stale, 1), changes, 0).status().code(), Code::kStale);
  EXPECT_EQ(store->get("report/")->entries.size(), 0u);
  EXPECT_EQ(keys_in(etcd), 1u);
  const auto made = store->swap(std::span(&holds, 1), changes, 0);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto view = store->get("report/");
  ASSERT_TRUE(view.ok()) << view.status().message();
  ASSERT_EQ(view->entries.size(), expected.size());
  for (const auto& [key, entry] : view->entries) {
    ASSERT_EQ(entry.value, expected[key]) << key;
    ASSERT_EQ(entry.revision, *made);
  }
  changes.push_back({"one more", "1"});
  EXPECT_EQ(store->swap({}, changes, 0).status().code(), Code::kUsage);
}

TEST(EtcdStore, PiecesEndWithTheirLease) {
  const EtcdForTest etcd;
  const auto store = etcd.open();
  ASSERT_TRUE(store);
  const StateLease lease = *store->grant(std::chrono::seconds(60));
  const StateChange change{"bound", bytes_of_size(700'000, 3)};
  ASSERT_TRUE(store->swap({}, std::span(&change, 1), lease).ok());
  EXPECT_EQ(keys_in(etcd), 3u);
  ASSERT_TRUE(store->revoke(lease).ok());
  EXPECT_EQ(keys_in(etcd), 0u);
}

TEST(EtcdStore, AWatchFromACompactedRevisionIsStale) {
  const EtcdForTest etcd;
  const auto store = etcd.open();
  ASSERT_TRUE(store);
  const std::uint64_t first = *set_in(*store, "a", "1");
  ASSERT_TRUE(set_in(*store, "a", "2").ok());
  const std::uint64_t last = *set_in(*store, "a", "3");
  auto http = HttpClient::make({});
  const auto compacted =
      (*http)->post(etcd.address() + "/v3/kv/compaction", "{\"revision\":\"" + std::to_string(last) + "\"}",
                    std::chrono::seconds(9));
  ASSERT_EQ(compacted->code, 200) << compacted->body;
  const auto events = store->watch("a", first, std::chrono::seconds(1));
  EXPECT_EQ(events.status().code(), Code::kStale) << events.status().message();
  EXPECT_EQ(store->watch("a", last - 1, std::chrono::seconds(1))->size(), 1u);
}

TEST(EtcdStore, GoesOnWithAnotherAddress) {
  const EtcdForTest etcd;
  ASSERT_TRUE(etcd.open());
  EtcdPlace place = etcd.place();
  place.endpoints.insert(place.endpoints.begin(), "http://127.0.0.1:" + std::to_string(port_for_this_test()));
  const auto store = EtcdStore::open(place);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_TRUE(set_in(**store, "a", "1").ok());
}

TEST(EtcdStore, WaitsForAnEtcdThatComesAgainAndNoLongerThanItsDeadline) {
  EtcdForTest etcd;
  const auto store = etcd.open({std::chrono::seconds(1), std::chrono::seconds(3)});
  ASSERT_TRUE(store);
  ASSERT_TRUE(set_in(*store, "a", "1").ok());
  etcd.kill();
  EXPECT_EQ(store->get("a").status().code(), Code::kIo);
  EXPECT_EQ(set_in(*store, "a", "2").status().code(), Code::kIo);
  etcd.start();
  ASSERT_TRUE(etcd.open());
  EXPECT_EQ(store->get("a")->entries.at("a").value, "1");
  etcd.pause();
  EXPECT_EQ(set_in(*store, "a", "3").status().code(), Code::kTimeout);  // It may have been heard.
  EXPECT_EQ(store->watch("a", 1, Duration{0}).status().code(), Code::kTimeout);
  etcd.go_on();
  ASSERT_TRUE(etcd.open());
  EXPECT_TRUE(set_in(*store, "a", "4").ok());
  EXPECT_EQ(store->get("a")->entries.at("a").value, "4");
}

TEST(EtcdStore, ChangesNothingInOneThatHasLostChanges) {
  EtcdForTest etcd;
  const auto store = etcd.open();
  ASSERT_TRUE(store);
  for (const std::string value : {"1", "2", "3"}) ASSERT_TRUE(set_in(*store, "a", value).ok());
  etcd.forget_all();
  ASSERT_TRUE(etcd.open());
  const auto view = store->get("a");
  EXPECT_EQ(view.status().code(), Code::kModel);
  EXPECT_NE(view.status().message().find("went back from"), std::string::npos) << view.status().message();
  EXPECT_EQ(set_in(*store, "b", "1").status(), view.status());
  EXPECT_EQ(keys_in(etcd), 0u);
}

TEST(EtcdStore, SaysWhichCertificatesAreRefused) {
  const EtcdForTest etcd(true);
  ASSERT_TRUE(etcd.open());
  const EtcdLimits limits{std::chrono::seconds(1), std::chrono::seconds(2)};
  const auto opened = [&](const StateTls& tls, std::string address) {
    return EtcdStore::open({{std::move(address)}, "p", tls}, limits).status();
  };
  const std::string address = etcd.address(true);
  StateTls tls = etcd.client("client");
  tls.ca = etcd.client("other").cert;
  const Status strange_server = opened(tls, address);
  EXPECT_EQ(strange_server.code(), Code::kUsage) << strange_server.message();
  EXPECT_NE(strange_server.message().find("TLS was refused"), std::string::npos) << strange_server.message();
  const Status stranger = opened(etcd.client("stranger"), address);
  EXPECT_NE(stranger.message().find("stranger.pem', as where that has expired"), std::string::npos)
      << stranger.message();
  const Status nobody = opened({etcd.client("ca").ca, "", ""}, address);
  EXPECT_NE(nobody.message().find("ask for a certificate, and was shown none"), std::string::npos)
      << nobody.message();
  const Status missing = opened({"/nowhere/ca.pem", "", ""}, address);
  EXPECT_EQ(missing.code(), Code::kUsage);
  EXPECT_NE(missing.message().find("/nowhere/ca.pem"), std::string::npos) << missing.message();
  EXPECT_FALSE(opened({}, etcd.address(false)).ok());  // Not by TLS at all.
}

TEST(EtcdStore, SaysThatWhatAnswersIsNoEtcd) {
  // Whoever has answered, however slowly, is not asked again: less than half an answer's time is left.
  const EtcdLimits limits{std::chrono::seconds(120), std::chrono::seconds(60)};
  const auto opened = [&](const std::string& answer) {
    const HttpAnswers server(answer);
    return EtcdStore::open({{server.address()}, "p", {}}, limits).status().message();
  };
  const auto says = [&](const std::string& answer, const std::string& what) {
    const std::string message = opened(answer);
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  says(http_answer(404, "<html>not here\n</html>"),
       "no etcd 3.4 or later: HTTP code 404, '<html>not here.</html>'");
  says(http_answer(200, "hello"), "what answers to maintenance/status is no etcd: 'hello'");
  says(http_answer(200, "{}"), "has no header");
  says(http_answer(200, R"({"header":{"cluster_id":"x"},"version":"3.4.1"})"),
       "'cluster_id' is not a number");
  says(http_answer(200, R"({"header":{"cluster_id":"7"},"version":"3.3.27"})"),
       "is an etcd 3.3.27, expected 3.4");
  says(http_answer(400, R"({"error":"e","message":"etcdserver: permission denied","code":7})"),
       "permission denied");
  // NOLINTNEXTLINE(bugprone-string-constructor): it is large.
  says("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + std::string(40'000'000, ' '),
       "more than 33554432 bytes");
  says("\x16\x03\x01 what is this", "http");
  says("", "127.0.0.1");
}

}  // namespace
}  // namespace thalweg
