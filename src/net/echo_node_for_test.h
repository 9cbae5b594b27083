// Nodes for driver tests and benchmarks: one that answers, one that asks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "node/node.h"

namespace thalweg {

class TestNode : public Node {
 public:
  void on_frame(Instant, NodeId, Frame, Transport&) override {}
  void on_time(Instant, Transport&) override {}
  Instant next_deadline() const override { return kNever; }
  void on_peer_lost(Instant, NodeId peer, Transport&) override { lost.push_back(peer); }
  bool finished() const override { return false; }

  std::vector<NodeId> lost;
};

// Sends every push back as its reply, payload shared.
class EchoNode : public TestNode {
 public:
  void on_frame(Instant, NodeId from, Frame frame, Transport& out) override {
    ++received;
    if (frame.head.op != Op::kPush) return;
    frame.head.op = Op::kPushReply;
    out.send(from, std::move(frame));
  }
  std::uint64_t received = 0;
};

// Sends `total` pushes to `peers` in turn, keeping `window` unanswered, and checks that the answers of each
// peer come in order and with the payload that was sent. Repeats what stays unanswered for `retry`.
class AskNode : public TestNode {
 public:
  AskNode(std::vector<NodeId> peers, std::uint32_t total, std::uint32_t window, Frame model = {})
      : peers_(std::move(peers)), total_(total), window_(window), model_(std::move(model)) {
    model_.head.op = Op::kPush;
  }

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override {
    const std::uint32_t request = frame.head.request;
    if (frame.head.op != Op::kPushReply || peers_[request % peers_.size()] != from) ++wrong;
    if (!same(frame.first, model_.first) || !same(frame.second, model_.second)) ++wrong;
    if (request < answered_) return;  // A repeat.
    if (request != answered_) {
      ++wrong;
      return;
    }
    ++answered_;
    answered_at_ = now;
    fill(out);
  }
  void on_time(Instant now, Transport& out) override {
    if (answered_ < sent_) sent_ = answered_;  // Nothing for long: again from the first unanswered one.
    answered_at_ = now;
    started_ = true;
    fill(out);
  }
  Instant next_deadline() const override {
    if (!started_) return Instant{};
    return answered_ == total_ ? kNever : answered_at_ + retry;
  }
  bool finished() const override { return finishes && answered_ == total_; }

  std::uint32_t answered() const { return answered_; }
  bool done() const { return answered_ == total_; }
  void ask_more(std::uint32_t count) {
    total_ += count;
    started_ = false;
  }

  Duration retry = limits::kRetryFirst;
  bool finishes = true;
  std::uint64_t wrong = 0;

 private:
  static bool same(const Bytes& a, const Bytes& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.span().data(), b.span().data(), a.size()) == 0);
  }
  void fill(Transport& out) {
    while (sent_ < total_ && sent_ - answered_ < window_) {
      Frame frame = model_;
      frame.head.request = sent_;
      out.send(peers_[sent_ % peers_.size()], std::move(frame));
      ++sent_;
    }
  }

  std::vector<NodeId> peers_;
  std::uint32_t total_;
  std::uint32_t window_;
  Frame model_;
  std::uint32_t sent_ = 0;
  std::uint32_t answered_ = 0;
  Instant answered_at_{};
  bool started_ = false;
};

}  // namespace thalweg
