// A server under attack and an honest client of it, which exchange all the time over one connection.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "net/tcp/tcp_process_for_test.h"

namespace thalweg {

class HonestPair : public testing::Test {
 protected:
  // The server takes `server`, with lines_ as its log, and `cluster`; the client takes `client` and its own
  // `client_cluster`, 0 being not yet known.
  HonestPair(TcpOptions server, TcpOptions client, std::uint64_t cluster, std::uint64_t client_cluster)
      : ask_({kEcho}, 1U << 30, 4, with_payload(8, 8)) {
    // The first connection must last: a repeat would come too late for the test to pass.
    ask_.retry = std::chrono::hours(1);
    server.tell = lines_.sink();
    server.events_max = 1000;
    server_ = std::make_unique<TcpProcess>(kEcho, echo_, server, "127.0.0.1:0", cluster);
    server_->start();
    client.stop = &stop_;
    client.local_way = server.local_way;
    client_ = std::make_unique<Tcp>(kClock, client);
    client_->add(kAsker, ask_, client_cluster);
    EXPECT_TRUE(client_->introduce(kEcho, at(server_->port)).ok());
    EXPECT_TRUE(client_->run_until([&] { return ask_.answered() > 100; }, in_a_minute()));
    honest_ = std::thread([this] { client_->run_until([] { return false; }); });
  }
  // The pair has gone on, and still does.
  void TearDown() override {
    stop_ = true;
    honest_.join();
    stop_ = false;
    const auto before = ask_.answered();
    EXPECT_TRUE(client_->run_until([&] { return ask_.answered() > before + 100; }, in_a_minute()));
    EXPECT_EQ(ask_.wrong, 0U);
    EXPECT_TRUE(ask_.lost.empty());
  }
  std::uint16_t port() const { return server_->port; }

  LogLines lines_;
  EchoNode echo_;
  // After the log and the node, which its thread uses to its end.
  std::unique_ptr<TcpProcess> server_;

 private:
  static Instant in_a_minute() { return kClock.now() + std::chrono::minutes(1); }

  AskNode ask_;
  std::unique_ptr<Tcp> client_;
  std::atomic<bool> stop_{false};
  std::thread honest_;
};

}  // namespace thalweg
