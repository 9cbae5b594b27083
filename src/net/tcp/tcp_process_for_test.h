// Drivers on threads of their own, standing in for processes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/echo_node_for_test.h"
#include "net/real_clock.h"
#include "net/tcp/tcp.h"

namespace thalweg {

inline const NodeId kAsker = worker_node(0);
inline const NodeId kEcho = server_node(0);
inline const RealClock kClock;

inline std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

class LogLines {
 public:
  std::function<void(const TcpEvent&)> sink() {
    return [this](const TcpEvent& event) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(log_line(event));
    };
  }
  std::size_t count(std::string_view part) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        lines_, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }
  std::string all() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// One node that listens, run until end().
class TcpProcess {
 public:
  TcpProcess(NodeId id, Node& node, TcpOptions options = {}, std::string_view address = "127.0.0.1:0",
             std::uint64_t cluster = 0) {
    options.stop = &stop_;
    net_ = std::make_unique<Tcp>(kClock, std::move(options));
    net_->add(id, node, cluster);
    const auto listening = net_->listen(address);
    EXPECT_TRUE(listening.ok()) << listening.status().message();
    if (listening) port = *listening;
  }
  ~TcpProcess() { end(); }
  TcpProcess(const TcpProcess&) = delete;
  TcpProcess& operator=(const TcpProcess&) = delete;
  Tcp& net() { return *net_; }  // Before start().
  TcpProcess& start() {
    thread_ = std::thread([this] { net_->run_until([] { return false; }); });
    return *this;
  }
  void end() {
    if (net_ == nullptr) return;
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    stats = net_->stats();
    net_.reset();
  }

  std::uint16_t port = 0;
  TcpStats stats;  // As of end().

 private:
  std::atomic<bool> stop_{false};
  std::unique_ptr<Tcp> net_;
  std::thread thread_;
};

inline Frame with_payload(std::size_t keys, std::size_t floats, Op op = Op::kPush) {
  Frame frame;
  frame.head.op = op;
  std::vector<std::uint64_t> k(keys);
  for (std::size_t i = 0; i < keys; ++i) k[i] = i * 0x9e3779b97f4a7c15ULL;
  std::vector<float> v(floats);
  for (std::size_t i = 0; i < floats; ++i) v[i] = static_cast<float>(i);
  frame.first = Bytes::of(std::move(k));
  frame.second = Bytes::of(std::move(v));
  return frame;
}

}  // namespace thalweg
