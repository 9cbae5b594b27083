#include "thalweg/quorum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "client/quorum/ring_access.h"
#include "net/socket/reserved_port_for_test.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

// Nodes on threads, over TCP. One that is stopped has nothing any more, as if it were killed.
class QuorumNodes {
 public:
  explicit QuorumNodes(std::size_t count, Duration deadline = 300ms) : deadline_(deadline), nodes_(count) {
    ring_.secret = draw_secret();
    for (std::size_t i = 0; i < count; ++i)
      ring_.nodes.push_back("127.0.0.1:" + std::to_string(port_for_this_test()));
    for (std::size_t i = 0; i < count; ++i) start(i);
  }
  ~QuorumNodes() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) stop(i);
  }

  void start(std::size_t number, std::uint32_t read = 0) {
    Running& node = nodes_[number];
    node.stop = false;
    QuorumNodeOptions options;
    options.ring = ring_;
    options.number = static_cast<std::uint32_t>(number);
    options.read = read;
    options.deadline = deadline_;
    options.patience = deadline_ / 3;
    options.compare_every = 100ms;
    options.stop = &node.stop;
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_ += line + "\n";
    };
    node.thread = std::thread([options] {
      const Status status = run_quorum_node(options);
      EXPECT_TRUE(status.ok()) << status.message();
    });
  }
  void stop(std::size_t number) {
    nodes_[number].stop = true;
    if (nodes_[number].thread.joinable()) nodes_[number].thread.join();
  }
  QuorumClientOptions client() const { return {ring_, 20 * deadline_ + 4s, 2 * deadline_ + 400ms}; }
  std::unique_ptr<QuorumClient> open() const {
    auto client = QuorumClient::open(this->client());
    EXPECT_TRUE(client) << client.status().message();
    return *std::move(client);
  }
  // Until all nodes answer and `holds` of each.
  bool await(const std::function<bool(const QuorumNodeStatus&)>& holds) const {
    for (int i = 0; i < 3000; ++i) {
      const auto status = quorum_status(client());
      if (status &&
          std::ranges::all_of(*status, [&](const auto& node) { return node.answers && holds(node); }))
        return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  const QuorumRing& ring() const { return ring_; }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  const Duration deadline_;  // Of nodes.
  struct Running {
    std::atomic<bool> stop{false};
    std::thread thread;
  };
  QuorumRing ring_;
  std::vector<Running> nodes_;
  std::mutex mutex_;
  std::string said_;
};

TEST(QuorumClient, GetsWhatWasPutAndPutsInThePlaceOfWhatItHasSeen) {
  QuorumNodes nodes(3, 3s);  // A large value takes its time where a sanitizer sees every byte of it.
  const auto client = nodes.open();
  const auto nothing = client->get(7);
  ASSERT_TRUE(nothing) << nothing.status().message();
  EXPECT_TRUE(nothing->values.empty());
  EXPECT_EQ(nothing->context, "");
  ASSERT_TRUE(client->put(7, "a").ok());
  const auto other = nodes.open();
  const auto first = other->get(7);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->values, std::vector<std::string>{"a"});
  ASSERT_TRUE(other->put(7, "b", first->context).ok());
  ASSERT_TRUE(client->put(7, "c", first->context).ok());  // It has not seen "b".
  auto both = client->get(7);
  ASSERT_TRUE(both);
  std::ranges::sort(both->values);
  EXPECT_EQ(both->values, (std::vector<std::string>{"b", "c"}));
  ASSERT_TRUE(client->put(7, "d", both->context).ok());
  EXPECT_EQ(other->get(7)->values, std::vector<std::string>{"d"});
  const std::string large(kVersionedValueBytesMax, 'x');
  const Status stored = client->put(8, large);
  ASSERT_TRUE(stored.ok()) << stored.message() << "\n" << nodes.said();
  EXPECT_EQ(other->get(8)->values, std::vector<std::string>{large});
}

// T35: (3,2,2), fixed membership: no get is older than a put that was acknowledged before it began, whoever
// is lost meanwhile, one at a time.
TEST(QuorumClient, NoGetIsStaleWhileNodesAreLostAndComeBack) {
  QuorumNodes nodes(3);
  ASSERT_TRUE(nodes.await([](const auto& node) { return node.complete; })) << nodes.said();
  constexpr Key kKeysPut = 5;
  std::array<std::atomic<int>, kKeysPut> put{};
  std::atomic<bool> done{false};
  std::atomic<int> gets{0};
  std::thread writer([&] {
    const auto client = nodes.open();
    for (int i = 1; !done; ++i) {
      const Key key = static_cast<Key>(i) % kKeysPut;
      const auto seen = client->get(key);
      ASSERT_TRUE(seen) << seen.status().message();
      const Status status = client->put(key, std::to_string(i), seen->context);
      ASSERT_TRUE(status.ok()) << status.message();
      put[key] = i;
    }
  });
  std::thread reader([&] {
    const auto client = nodes.open();
    for (Key key = 0; !done; key = (key + 1) % kKeysPut) {
      const int least = put[key];
      const auto got = client->get(key);
      ASSERT_TRUE(got) << got.status().message();
      int newest = 0;
      for (const std::string& value : got->values) newest = std::max(newest, std::stoi(value));
      EXPECT_GE(newest, least) << "key " << key;
      ++gets;
    }
  });
  for (const std::size_t number : {1u, 0u}) {
    const int before = gets;
    nodes.stop(number);
    for (int i = 0; gets < before + 20 && i < 3000; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_GE(gets, before + 20) << "gets go on without node " << number;
    nodes.start(number);
    EXPECT_TRUE(nodes.await([](const auto& node) { return node.complete && node.hints == 0; }))
        << nodes.said();
  }
  done = true;
  writer.join();
  reader.join();
  for (const auto& one : put) EXPECT_GT(one, 0);
}

TEST(QuorumClient, SaysWhoDidNotAnswer) {
  QuorumNodes nodes(3);
  ASSERT_TRUE(nodes.open()->put(7, "a").ok());
  nodes.stop(0);
  nodes.stop(2);
  QuorumClientOptions options = nodes.client();
  options.deadline = 2s;
  const auto client = QuorumClient::open(options);
  ASSERT_TRUE(client);
  const Status put = (*client)->put(7, "b");
  EXPECT_EQ(put.code(), Code::kTimeout);
  EXPECT_NE(put.message().find("no answer from server-"), std::string::npos) << put.message();
  for (const std::size_t gone : {0u, 2u}) {
    const std::string where = "server-" + std::to_string(gone) + " is " + nodes.ring().nodes[gone];
    EXPECT_NE(put.message().find(where), std::string::npos) << put.message();
  }
  nodes.stop(1);
  const auto nobody = (*client)->get(7);
  EXPECT_EQ(nobody.status().code(), Code::kTimeout);
  EXPECT_NE(nobody.status().message().find("server-0, server-1, server-2 did not answer"), std::string::npos)
      << nobody.status().message();
  EXPECT_EQ(quorum_status(options).status().code(), Code::kTimeout);
}

TEST(QuorumClient, RefusesWhatIsNoContextOrOfAnotherKey) {
  QuorumNodes nodes(3);
  const auto client = nodes.open();
  for (const char* bad : {"x", "1", "1.2", "1:2", "1.2:", "1.2:0", "1.2:3,", ",1.2:3", "1.2:3,1.2:4",
                          "-1.2:3", "1.2:3 ", "1.g:3", "1.2:99999999999999999999", "", "3.2:1"}) {
    const Status status = client->put(7, "a", "7/" + std::string(bad));
    EXPECT_EQ(status.code(), Code::kUsage) << bad << ": " << status.message();
  }
  EXPECT_EQ(client->put(7, std::string(kVersionedValueBytesMax + 1, 'x')).code(), Code::kUsage);
  EXPECT_EQ(client->get(kReservedKey).status().code(), Code::kRefused);
  ASSERT_TRUE(client->put(7, "a").ok());
  const std::string context = client->get(7)->context;
  const auto clock = parse_context(context, 7, 3);
  ASSERT_TRUE(clock);
  EXPECT_EQ(context_text(7, *clock), context);
  ASSERT_TRUE(client->put(8, "precious").ok());
  for (const std::string& bad : {context, context.substr(2), "7" + context, std::string("/1.2:3")}) {
    const Status status = client->put(8, "b", bad);
    EXPECT_EQ(status.code(), Code::kUsage) << bad << ": " << status.message();
  }
  EXPECT_EQ(client->get(8)->values, std::vector<std::string>{"precious"});
}

TEST(QuorumClient, WhoIsToldAnotherRingIsToldSo) {
  QuorumNodes nodes(3);
  ASSERT_TRUE(nodes.await([](const auto& node) { return node.complete; })) << nodes.said();
  QuorumClientOptions options = nodes.client();
  options.ring.nodes.push_back("127.0.0.1:" + std::to_string(port_for_this_test()));
  options.deadline = 3s;
  const auto longer = QuorumClient::open(options);
  ASSERT_TRUE(longer);
  std::string told;
  for (Key key = 0; key < 20 && told.empty(); ++key) told = (*longer)->get(key).status().message();
  EXPECT_NE(told.find("the ring has 3 nodes, 4 were named"), std::string::npos) << told;
  nodes.stop(1);
  nodes.start(1, 3);
  for (int i = 0; nodes.said().find("are to be told the same nodes") == std::string::npos && i < 1000; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_NE(nodes.said().find("are to be told the same nodes"), std::string::npos) << nodes.said();
  EXPECT_TRUE(nodes.open()->put(7, "a").ok()) << "the others go on";
}

TEST(QuorumNode, RefusesOptionsThatCannotBe) {
  QuorumNodeOptions options;
  EXPECT_EQ(run_quorum_node(options).code(), Code::kUsage);
  options.ring.nodes = {"127.0.0.1:7201", "127.0.0.1:7201"};
  EXPECT_NE(run_quorum_node(options).message().find("twice"), std::string::npos);
  options.ring.nodes = {"127.0.0.1:7201", "127.0.0.1:0"};
  EXPECT_NE(run_quorum_node(options).message().find("port 0"), std::string::npos);
  options.ring.nodes = {"127.0.0.1:7201", "127.0.0.1:7202"};
  EXPECT_NE(run_quorum_node(options).message().find("which of the ring's 2 nodes"), std::string::npos);
  options.listen = "127.0.0.1:7203";
  EXPECT_NE(run_quorum_node(options).message().find("none of the ring's 2 nodes"), std::string::npos);
  options.number = 2;
  EXPECT_NE(run_quorum_node(options).message().find("no node 2"), std::string::npos);
  options.number = 1;
  options.replicas = 3;
  EXPECT_NE(run_quorum_node(options).message().find("at most 2"), std::string::npos);
  options.replicas = 2;
  options.read = 3;
  EXPECT_NE(run_quorum_node(options).message().find("at most 2"), std::string::npos);
  options.read = 2;
  options.deadline = 0s;
  EXPECT_NE(run_quorum_node(options).message().find("deadline"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
