// Grammar, all integers little-endian:
//   frame   := header first padding second padding
//   header  := magic:u32 version:u16 op:u8 flags:u8 cluster:u64 map_epoch:u32 request:u32 table:u16
//   range_begin:u16
//              range_end:u16 code:u16 shard:u32 owner_epoch:u32 step_epoch:u32 step_index:u32 first_bytes:u32
//              second_bytes:u32 block:u8 reserved:u8(0)*3 version:u32 payload_checksum:u64
//              header_checksum:u64
//   padding := zero bytes up to a multiple of 8
// payload_checksum = XXH3-64 over (XXH3-64 of first, XXH3-64 of second).
// header_checksum = XXH3-64 over the 72 bytes before it: no length is believed that was not sent.
#include "base/frame.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/coverage/reached.h"
#include "base/hash/hash.h"
#include "base/planted.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kMagic = 0x474c4854;  // "THLG"
constexpr std::size_t kHeaderChecksumAt = kHeaderBytes - 8;

std::uint64_t payload_checksum(const Bytes& first, const Bytes& second) {
  const std::uint64_t hashes[2] = {hash64(first.span().data(), first.size()),
                                   hash64(second.span().data(), second.size())};
  return hash64(hashes, sizeof hashes);
}

struct Put {
  std::byte* at;
  template <class T>
  Put& operator<<(T value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
    return *this;
  }
};

struct Get {
  const std::byte* at;
  template <class T>
  T next() {
    T value;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  }
};

Status refused(std::string why) { return {Code::kRefused, "frame refused: " + std::move(why)}; }

// Data shards in blocks are pushes' and their answers' alone, and a block begins at a multiple of its size.
Status check_block(const FrameHeader& head) {
  if (head.block == 0) return ok_status();
  if (head.op != Op::kPush && head.op != Op::kPushReply && head.op != Op::kWaiting)
    return refused("only pushes and their answers are for blocks of shards");
  if (head.block > kBlockMax || head.shard.value % head.shard_count() != 0) {
    return refused(
        fmt::format("2^{} shards from shard {} on are no aligned block", head.block, head.shard.value));
  }
  return ok_status();
}

}  // namespace

std::array<std::byte, kHeaderBytes> encode_header(const Frame& frame) {
  THALWEG_CHECK(frame.size_bytes() <= limits::kFrameBytesMax, "a frame above the limit is never built");
  std::array<std::byte, kHeaderBytes> bytes{};
  const FrameHeader& h = frame.head;
  Put put{bytes.data()};
  put << kMagic << kWireVersion << h.op << h.flags << h.cluster << h.map_epoch << h.request << h.table.value
      << h.ranges.begin << h.ranges.end << static_cast<std::uint16_t>(h.code) << h.shard.value
      << h.owner_epoch << h.step.epoch << h.step.index << static_cast<std::uint32_t>(frame.first.size())
      << static_cast<std::uint32_t>(frame.second.size()) << std::uint32_t{h.block} << h.version
      << payload_checksum(frame.first, frame.second);
  THALWEG_CHECK(put.at == bytes.data() + kHeaderChecksumAt, "header fields fill the header");
  put << hash64(bytes.data(), kHeaderChecksumAt);
  return bytes;
}

Result<PayloadLengths> decode_header(std::span<const std::byte, kHeaderBytes> bytes,
                                     std::size_t frame_bytes_max, FrameHeader& head) {
  Get get{bytes.data()};
  const auto magic = get.next<std::uint32_t>();
  if (magic != kMagic) {
    return refused(
        fmt::format("starts with {:08x}, expected {:08x}; is the peer a thalweg node?", magic, kMagic));
  }
  const auto version = get.next<std::uint16_t>();
  if (version != kWireVersion) {
    return refused(fmt::format("wire version {}, this node speaks {}", version, kWireVersion));
  }
  const auto header_checksum = Get{bytes.data() + kHeaderChecksumAt}.next<std::uint64_t>();
  if (header_checksum != hash64(bytes.data(), kHeaderChecksumAt) && !THALWEG_BUG(kHeaderUnread))
    return refused("checksum of its header does not match; it was damaged on its way");
  const auto op = get.next<std::uint8_t>();
  if (op == 0 || op > kOpMax) return refused(fmt::format("operation {} is unknown", op));
  head.op = static_cast<Op>(op);
  head.flags = get.next<std::uint8_t>();
  if ((head.flags & ~frame_flags::kKnown) != 0)
    return refused(fmt::format("flags {:#x} are unknown", head.flags));
  head.cluster = get.next<std::uint64_t>();
  head.map_epoch = get.next<std::uint32_t>();
  head.request = get.next<std::uint32_t>();
  head.table = TableId{get.next<std::uint16_t>()};
  head.ranges.begin = get.next<std::uint16_t>();
  head.ranges.end = get.next<std::uint16_t>();
  const auto code = get.next<std::uint16_t>();
  if (code > static_cast<std::uint16_t>(Code::kAborted))
    return refused(fmt::format("code {} is unknown", code));
  head.code = static_cast<Code>(code);
  head.shard = ShardId{get.next<std::uint32_t>()};
  head.owner_epoch = get.next<std::uint32_t>();
  head.step.epoch = get.next<std::uint32_t>();
  head.step.index = get.next<std::uint32_t>();
  PayloadLengths lengths;
  lengths.first = get.next<std::uint32_t>();
  lengths.second = get.next<std::uint32_t>();
  const auto block = get.next<std::uint32_t>();
  head.version = get.next<std::uint32_t>();
  lengths.checksum = get.next<std::uint64_t>();
  if ((block >> 8) != 0) return refused("reserved bytes are not zero");
  head.block = static_cast<std::uint8_t>(block);
  if (Status status = check_block(head); !status.ok()) return status;
  if (head.ranges.begin > head.ranges.end) {
    return refused(fmt::format("ranges [{},{}) run backwards", head.ranges.begin, head.ranges.end));
  }
  const std::size_t total = kHeaderBytes + lengths.wire_bytes();
  if (total > frame_bytes_max)
    return refused(fmt::format("{} bytes, the limit is {}", total, frame_bytes_max));
  return lengths;
}

Status check_padding(std::span<const std::byte> payload, const PayloadLengths& lengths) {
  THALWEG_CHECK(payload.size() == lengths.wire_bytes(), "the payload is whole");
  const std::size_t second_at = Frame::padded(lengths.first);
  const auto is_zero = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (payload[i] != std::byte{0}) return false;
    }
    return true;
  };
  if (is_zero(lengths.first, second_at) && is_zero(second_at + lengths.second, payload.size())) {
    return ok_status();
  }
  return refused("padding is not zero");
}

Status check_payload(const Frame& frame, const PayloadLengths& lengths) {
  if (payload_checksum(frame.first, frame.second) == lengths.checksum || THALWEG_BUG(kNoChecksum))
    return ok_status();
  return refused("checksum of its payload does not match; it was damaged on its way");
}

std::vector<std::byte> encode_frame(const Frame& frame) {
  std::vector<std::byte> out(frame.size_bytes());
  const auto header = encode_header(frame);
  std::memcpy(out.data(), header.data(), header.size());
  std::size_t at = kHeaderBytes;
  for (const Bytes* segment : {&frame.first, &frame.second}) {
    if (!segment->empty()) std::memcpy(out.data() + at, segment->span().data(), segment->size());
    at += Frame::padded(segment->size());
  }
  return out;
}

Result<Frame> decode_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) {
    return refused(fmt::format("{} bytes, a header has {}", bytes.size(), kHeaderBytes));
  }
  const auto header = bytes.first<kHeaderBytes>();
  Frame frame;
  const auto lengths = decode_header(header, limits::kFrameBytesMax, frame.head);
  if (!lengths) return lengths.status();
  if (bytes.size() != kHeaderBytes + lengths->wire_bytes()) {
    return refused(
        fmt::format("{} bytes, its header says {}", bytes.size(), kHeaderBytes + lengths->wire_bytes()));
  }
  if (Status status = check_padding(bytes.subspan(kHeaderBytes), *lengths); !status.ok()) return status;
  const Bytes payload = Bytes::of(std::vector<std::byte>(bytes.begin() + kHeaderBytes, bytes.end()));
  frame.first = payload.part(0, lengths->first);
  frame.second = payload.part(Frame::padded(lengths->first), lengths->second);
  if (Status status = check_payload(frame, *lengths); !status.ok()) return status;
  return frame;
}

Status status_of(const Frame& frame) {
  if (frame.head.code == Code::kOk) return ok_status();
  return {frame.head.code, std::string(frame.first.text().substr(0, limits::kTextOfStatusMax))};
}

void put_status(Frame& frame, const Status& status) {
  THALWEG_CODE_SAID(status.code());
  frame.head.code = status.code();
  if (!status.ok())
    frame.first = Bytes::of(std::string_view(status.message()).substr(0, limits::kTextOfStatusMax));
}

const char* op_name(Op op) {
  static constexpr std::array<const char*, kOpMax + 1> kNames = {
      "?",           "hello",      "join",          "welcome",     "map",
      "get-map",     "push",       "push-reply",    "pull",        "pull-reply",
      "waiting",     "barrier",    "barrier-reply", "report",      "report-reply",
      "scan",        "scan-reply", "marks",         "marks-reply", "heartbeat",
      "stop",        "ended",      "load",          "load-reply",  "entry",
      "entry-reply", "status",     "status-reply",  "checkpoint",  "checkpoint-reply",
      "copy",        "joined",     "drain",         "drain-reply", "versioned"};
  const auto index = static_cast<std::size_t>(op);
  return index <= kOpMax ? kNames[index] : "?";
}

std::string node_name(NodeId node) {
  switch (node.role) {
    case Role::kScheduler:
      return "scheduler";
    case Role::kServer:
      return fmt::format("server-{}", node.index);
    case Role::kWorker:
      return fmt::format("worker-{}", node.index);
  }
  return "?";
}

std::string describe(const FrameHeader& h) {
  if (h.shard == kNoShard)
    return fmt::format("{} table {} ranges [{},{})", op_name(h.op), h.table.value, h.ranges.begin,
                       h.ranges.end);
  const std::string shards =
      h.block == 0 ? fmt::format("shard {}", h.shard.value)
                   : fmt::format("shards {} to {}", h.shard.value, h.shard.value + h.shard_count() - 1);
  return fmt::format("{} table {} {} step {}.{} ranges [{},{})", op_name(h.op), h.table.value, shards,
                     h.step.epoch, h.step.index, h.ranges.begin, h.ranges.end);
}

}  // namespace thalweg
