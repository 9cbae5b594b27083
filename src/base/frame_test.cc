#include "base/frame.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/limits.h"

namespace thalweg {
namespace {

// Hexadecimal digits in lines; what follows '#' is for people.
std::vector<std::byte> golden(const std::string& name) {
  std::ifstream in(std::string(THALWEG_SOURCE_DIR) + "/tests/golden/" + name);
  EXPECT_TRUE(in.good()) << name;
  std::vector<std::byte> bytes;
  std::string line;
  while (std::getline(in, line)) {
    std::string digits;
    for (const char c : line.substr(0, line.find('#'))) {
      if (c != ' ') digits.push_back(c);
    }
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    }
  }
  return bytes;
}

Frame push() {
  Frame frame;
  FrameHeader& head = frame.head;
  head.op = Op::kPush;
  head.flags = frame_flags::kEndOfEpoch;
  head.cluster = 0x1122334455667788;
  head.map_epoch = 7;
  head.request = 0xa0b0c0d0;
  head.table = TableId{3};
  head.ranges = {16, 32};
  head.shard = ShardId{5};
  head.owner_epoch = 2;
  head.step = {1, 17};
  frame.first = Bytes::of(std::vector<std::uint64_t>{1, 0xfedcba9876543210});
  frame.second = Bytes::of(std::vector<float>{1.0F, -2.5F, 0.0F});
  return frame;
}

Frame block() {
  Frame frame = push();
  frame.head.shard = ShardId{4};
  frame.head.block = 2;
  return frame;
}

Frame refusal() {
  Frame frame;
  frame.head.op = Op::kPullReply;
  frame.head.code = Code::kStale;
  frame.head.request = 9;
  frame.first = Bytes::of("map 7 is newer");
  return frame;
}

TEST(Frame, BytesAreThoseOfTheGoldenFiles) {
  EXPECT_EQ(encode_frame(push()), golden("frame_push.hex"));
  EXPECT_EQ(encode_frame(block()), golden("frame_block.hex"));
  EXPECT_EQ(encode_frame(refusal()), golden("frame_refusal.hex"));
  Frame empty;
  empty.head.op = Op::kHeartbeat;
  EXPECT_EQ(encode_frame(empty), golden("frame_heartbeat.hex"));
}

TEST(Frame, SaysNoShardOfAnObserversRequest) {
  FrameHeader head;
  head.op = Op::kLoad;
  head.shard = kNoShard;
  head.ranges = {3, 4};
  EXPECT_EQ(describe(head), "load table 0 ranges [3,4)");
}

TEST(Frame, GoldenFilesAreReadBack) {
  const auto frame = decode_frame(golden("frame_push.hex"));
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  EXPECT_EQ(describe(frame->head), "push table 3 shard 5 step 1.17 ranges [16,32)");
  EXPECT_EQ(frame->head.cluster, 0x1122334455667788U);
  EXPECT_EQ(frame->head.flags, frame_flags::kEndOfEpoch);
  EXPECT_EQ(frame->head.map_epoch, 7U);
  EXPECT_EQ(frame->head.request, 0xa0b0c0d0U);
  EXPECT_EQ(frame->head.owner_epoch, 2U);
  EXPECT_EQ(frame->keys()[1], 0xfedcba9876543210U);
  EXPECT_EQ(frame->values()[1], -2.5F);
  const auto of_block = decode_frame(golden("frame_block.hex"));
  ASSERT_TRUE(of_block.ok());
  EXPECT_EQ(of_block->head.shard_count(), 4U);
  EXPECT_EQ(describe(of_block->head), "push table 3 shards 4 to 7 step 1.17 ranges [16,32)");
  const auto refused = decode_frame(golden("frame_refusal.hex"));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->head.code, Code::kStale);
  EXPECT_EQ(refused->first.text(), "map 7 is newer");
}

TEST(Frame, EveryFlippedBitIsRefused) {
  for (const Frame& frame : {push(), block(), refusal()}) {
    auto bytes = encode_frame(frame);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      const auto mask = std::byte{1} << (bit % 8);
      bytes[bit / 8] ^= mask;
      EXPECT_FALSE(decode_frame(bytes).ok()) << "bit " << bit;
      bytes[bit / 8] ^= mask;
    }
    EXPECT_TRUE(decode_frame(bytes).ok());
  }
}

// A length that was not sent is never waited for.
TEST(Frame, EveryFlippedBitOfAHeaderIsRefusedByTheHeaderAlone) {
  for (const Frame& frame : {push(), block(), refusal()}) {
    auto header = encode_header(frame);
    FrameHeader head;
    for (std::size_t bit = 0; bit < header.size() * 8; ++bit) {
      const auto mask = std::byte{1} << (bit % 8);
      header[bit / 8] ^= mask;
      EXPECT_EQ(decode_header(header, limits::kFrameBytesMax, head).status().code(), Code::kRefused)
          << "bit " << bit;
      header[bit / 8] ^= mask;
    }
    EXPECT_TRUE(decode_header(header, limits::kFrameBytesMax, head).ok());
  }
}

TEST(Frame, AVersionTravelsAndOfTwoTheOlderOneIsKept) {
  Frame frame = block();
  frame.head.version = 0xfedcba98;
  EXPECT_EQ(decode_frame(encode_frame(frame))->head.version, 0xfedcba98);
  EXPECT_EQ(older_version(3, 2), 2U);
  EXPECT_EQ(older_version(0, 2), 2U) << "not said";
  EXPECT_EQ(older_version(3, 0), 3U);
}

TEST(Frame, OnlyPushesAreForBlocksAndThoseAreAligned) {
  const auto code_of = [](Op op, std::uint32_t shard, std::uint8_t log2) {
    Frame frame;
    frame.head.op = op;
    frame.head.shard = ShardId{shard};
    frame.head.block = log2;
    return decode_frame(encode_frame(frame)).status().code();
  };
  EXPECT_EQ(code_of(Op::kPush, 0, kBlockMax), Code::kOk);
  EXPECT_EQ(code_of(Op::kPushReply, 6, 1), Code::kOk);
  EXPECT_EQ(code_of(Op::kPush, 0, kBlockMax + 1), Code::kRefused);
  EXPECT_EQ(code_of(Op::kPush, 0, 255), Code::kRefused);
  EXPECT_EQ(code_of(Op::kPush, 6, 2), Code::kRefused);
  EXPECT_EQ(code_of(Op::kPush, 5, 1), Code::kRefused);
  EXPECT_EQ(code_of(Op::kPull, 4, 1), Code::kRefused);
}

TEST(Frame, EveryOtherLengthIsRefused) {
  auto bytes = encode_frame(push());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_frame(std::span(bytes).first(size)).ok()) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_frame(bytes).ok());
}

TEST(Frame, LengthsAreRefusedByTheHeaderAlone) {
  Frame frame = push();
  const auto header = encode_header(frame);
  FrameHeader head;
  EXPECT_TRUE(decode_header(header, frame.size_bytes(), head).ok());
  const auto refused = decode_header(header, frame.size_bytes() - 1, head);
  EXPECT_EQ(refused.status().code(), Code::kRefused);
  EXPECT_NE(refused.status().message().find("112 bytes"), std::string::npos) << refused.status().message();
}

TEST(Frame, OperationsHaveNames) {
  for (int op = 1; op <= kOpMax; ++op) EXPECT_STRNE(op_name(static_cast<Op>(op)), "?") << op;
  EXPECT_STREQ(op_name(static_cast<Op>(kOpMax + 1)), "?");
}

}  // namespace
}  // namespace thalweg
