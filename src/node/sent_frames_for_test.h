// A transport that keeps what a node sends.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/node.h"

namespace thalweg {

struct SentFrames final : Transport {
  void send(NodeId to, Frame frame) override { frames.emplace_back(to, std::move(frame)); }
  void introduce(NodeId node, std::string_view address) override {
    introduced.emplace_back(node, std::string(address));
  }
  void rename_self(NodeId, std::uint64_t) override {}
  // What has been sent since the last call.
  std::vector<std::pair<NodeId, Frame>> take() { return std::exchange(frames, {}); }
  // Of those, the ones with this operation.
  std::vector<std::pair<NodeId, Frame>> take(Op op) {
    auto all = take();
    std::erase_if(all, [&](const auto& sent) { return sent.second.head.op != op; });
    return all;
  }

  std::vector<std::pair<NodeId, Frame>> frames;
  std::vector<std::pair<NodeId, std::string>> introduced;
};

inline Frame make_frame(Op op, Bytes first = {}) {
  Frame frame;
  frame.head.op = op;
  frame.first = std::move(first);
  return frame;
}

}  // namespace thalweg
