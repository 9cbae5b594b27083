// Fuzz bytes as what a node may meet: frames with mostly plausible fields, and a transport that holds the
// node's answers to the frame's limits. Used by the fuzz targets only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "node/node.h"

namespace thalweg {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  // Zeros once the input is used up.
  template <class T>
  T take() {
    T value{};
    const std::size_t size = std::min(sizeof value, rest_.size());
    if (size > 0) std::memcpy(&value, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return value;
  }
  std::uint8_t byte() { return take<std::uint8_t>(); }
  Bytes raw(std::size_t size) {
    const auto part = std::as_bytes(rest_.first(std::min(size, rest_.size())));
    rest_ = rest_.subspan(part.size());
    return Bytes::of(std::vector<std::byte>(part.begin(), part.end()));
  }
  // Few nodes, so that inputs hit on those that there are; also temporary and observers' numbers.
  NodeId node() {
    const std::uint8_t b = byte();
    std::uint32_t index = b >> 5;
    if (index == 6) index = 1u << 20;
    if (index == 7) index = (1u << 31) | (b & 0x1c);
    return {static_cast<Role>(b % 3), index};
  }
  // Changes some fields of `head`: a byte says which.
  void header(FrameHeader& head) {
    const std::uint8_t which = byte();
    if ((which & 1) != 0) head.flags = byte() & frame_flags::kKnown;
    if ((which & 2) != 0) head.map_epoch += static_cast<std::uint32_t>(take<std::int8_t>());
    if ((which & 4) != 0) head.table = TableId{byte()};
    if ((which & 8) != 0) {
      head.ranges.begin = byte();
      head.ranges.end = static_cast<std::uint16_t>(head.ranges.begin + byte());
    }
    if ((which & 16) != 0) head.shard = ShardId{head.shard.value + byte()};
    if ((which & 32) != 0) head.owner_epoch = byte();
    if ((which & 64) != 0) head.step = {byte() % 4u, byte()};
    if ((which & 128) != 0) {
      head.step = take<Step>();
      head.code = static_cast<Code>(byte() % 13);
    }
  }
  // Makes a push one of a block, as frames can say it.
  void block(FrameHeader& head) {
    const std::uint8_t b = byte();
    if (head.op != Op::kPush || b < 160) return;
    head.block = b % 3;
    head.shard.value -= head.shard.value % head.shard_count();
  }
  // Keys and values that may be good, or raw bytes.
  void payload(Frame& frame, std::uint32_t dim, std::uint16_t ranges) {
    const std::uint8_t kind = byte();
    const std::size_t count = byte() % 24;
    if ((kind & 1) != 0) {
      frame.first = raw(count * 8);
    } else {
      std::vector<std::uint64_t> keys(count);
      for (auto& key : keys) key = (std::uint64_t{byte()} << 56) + ((kind & 2) != 0 ? byte() % ranges : 0u);
      if ((kind & 4) == 0) std::sort(keys.begin(), keys.end());
      if ((kind & 8) != 0) {
        for (auto& key : keys) key >>= 56;
      }
      frame.first = Bytes::of(std::move(keys));
    }
    if ((kind & 16) != 0) {
      frame.second = raw(byte());
    } else if ((kind & 32) != 0) {
      std::vector<float> values(((kind & 64) != 0 ? byte() % 8u : count) * dim);
      for (float& value : values) value = static_cast<float>(take<std::int8_t>());
      frame.second = Bytes::of(std::move(values));
    }
  }

 private:
  std::span<const std::uint8_t> rest_;
};

// Keeps what was sent since take().
class FuzzTransport final : public Transport {
 public:
  void send(NodeId to, Frame frame) override {
    THALWEG_CHECK(frame.size_bytes() <= limits::kFrameBytesMax, "a node sends no frame above the limit");
    sent_.emplace_back(to, std::move(frame));
  }
  void introduce(NodeId, std::string_view) override {}
  void rename_self(NodeId, std::uint64_t) override {}
  std::vector<std::pair<NodeId, Frame>> take() { return std::exchange(sent_, {}); }

 private:
  std::vector<std::pair<NodeId, Frame>> sent_;
};

}  // namespace thalweg
