// Servers and a client whose frames arrive at once and in order, some of which are cut off.
#pragma once

#include <deque>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/sent_frames_for_test.h"
#include "quorum/client.h"
#include "quorum/server.h"

namespace thalweg::quorum {

class RingForTest {
 public:
  RingForTest(std::uint32_t servers, std::uint32_t replicas, ServerOptions options)
      : replicas_(replicas), options_(options) {
    std::vector<std::uint32_t> numbers(servers);
    std::iota(numbers.begin(), numbers.end(), 0u);
    ring_ = HashRing(numbers);
    for (std::uint32_t s = 0; s < servers; ++s) {
      stores.push_back(std::make_unique<VersionStore>(ring_, s, replicas));
      nodes.push_back(nullptr);
      start(s);
    }
    set_client(numbers, 1);
  }

  void set_client(std::vector<std::uint32_t> servers, std::uint32_t epoch, bool all_named = false) {
    ClientOptions client_options;
    client_options.servers = std::move(servers);
    client_options.replicas = replicas_;
    client_options.ring_epoch = epoch;
    client_options.all_named = all_named;
    client = std::make_unique<Client>(client_options);
  }
  // Its process is a new one; its disk is what it was.
  void start(std::uint32_t server) {
    ServerOptions options = options_;
    options.boot = ++boots_;
    nodes[server] = std::make_unique<Server>(options, *stores[server]);
    down.erase(server);
  }
  void lose_disk(std::uint32_t server) {
    nodes[server].reset();
    stores[server] = std::make_unique<VersionStore>(ring_, server, replicas_, ++lives_);
    down.insert(server);
  }

  ClientResult get(Key key) {
    client->get(now, key, sent_);
    return finish();
  }
  ClientResult put(Key key, const VectorClock& context, std::string_view value) {
    client->put(now, key, context, Bytes::of(value), sent_);
    return finish();
  }
  void run_for(Duration duration) {
    for (const Instant until = now + duration; now < until;) step();
  }
  bool alike(std::uint32_t a, std::uint32_t b) const {
    return stores[a]->tree(b)->root() == stores[b]->tree(a)->root();
  }

  Instant now{0};
  std::vector<std::unique_ptr<VersionStore>> stores;
  std::vector<std::unique_ptr<Server>> nodes;
  std::unique_ptr<Client> client;
  std::set<std::uint32_t> down;

 private:
  struct Letter {
    NodeId from, to;
    Frame frame;
  };
  static constexpr NodeId kClient = worker_node(0);

  void collect(NodeId from) {
    for (auto& [to, frame] : sent_.take()) letters_.push_back({from, to, std::move(frame)});
  }
  void carry() {
    while (!letters_.empty()) {
      Letter letter = std::move(letters_.front());
      letters_.pop_front();
      const auto is_down = [&](NodeId id) { return id.role == Role::kServer && down.contains(id.index); };
      const bool stranger = letter.to.role == Role::kWorker && letter.to != kClient;
      if (stranger || is_down(letter.from) || is_down(letter.to)) continue;
      Node& node = letter.to == kClient ? static_cast<Node&>(*client) : *nodes[letter.to.index];
      node.on_frame(now, letter.from, std::move(letter.frame), sent_);
      collect(letter.to);
    }
  }
  void step() {
    now = now + std::chrono::milliseconds(10);
    for (std::uint32_t s = 0; s < nodes.size(); ++s) {
      if (down.contains(s) || nodes[s]->next_deadline() > now) continue;
      nodes[s]->on_time(now, sent_);
      collect(server_node(s));
    }
    if (client->next_deadline() <= now) {
      client->on_time(now, sent_);
      collect(kClient);
    }
    carry();
  }
  ClientResult finish() {
    collect(kClient);
    carry();
    while (client->busy()) step();
    return *client->take_result();
  }

  std::uint32_t replicas_;
  ServerOptions options_;
  HashRing ring_;
  SentFrames sent_;
  std::deque<Letter> letters_;
  std::uint32_t boots_ = 0, lives_ = 0;
};

}  // namespace thalweg::quorum
