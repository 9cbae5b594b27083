// A frame: what one node sends another. frame.cc holds its grammar.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/range.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

enum class Op : std::uint8_t {
  kHello = 1,    // First on every connection, by both sides: who I am. Handled by the driver.
  kJoin = 2,     // To the scheduler: I want to take part.
  kWelcome = 3,  // Scheduler: your id and the job.
  kMap = 4,      // Scheduler: who owns what. Also answers kGetMap.
  kGetMap = 5,
  kPush = 6,  // Answered by kPushReply.
  kPushReply = 7,
  kPull = 8,  // Answered by kPullReply, or by kWaiting while the gate is shut.
  kPullReply = 9,
  kWaiting = 10,
  kBarrier = 11,  // Answered by kBarrierReply when all shards are there.
  kBarrierReply = 12,
  kReport = 13,  // Worker to scheduler: numbers for people. Answered by kReportReply.
  kReportReply = 14,
  kScan = 15,  // Rows of one key range, in blocks.
  kScanReply = 16,
  kMarks = 17,  // How far a shard's pushes are known to a server.
  kMarksReply = 18,
  kHeartbeat = 19,  // Node to scheduler, which answers with an empty one or something newer.
  kStop = 20,       // Scheduler to all: the job is over, with this status.
  kEnded = 21,  // Node to scheduler: my part is over. Unless OK, so is the job; an observer's ends it anyway.
  kLoad = 22,   // Observer to server: rows that a key range begins with. Answered by kLoadReply.
  kLoadReply = 23,
  kEntry = 24,  // Server to the next of a chain: a change, in a log entry. Answered by kEntryReply.
  kEntryReply = 25,
  kStatus = 26,  // Anybody to the scheduler: how is the job? Answered by kStatusReply, and no way to join it.
  kStatusReply = 27,
  kCheckpoint = 28,  // Scheduler to server: take a step boundary's rows. Answered by kCheckpointReplies.
  kCheckpointReply = 29,
  kCopy = 30,    // Server to one who joins a chain: some rows of a range. Answered by kEntryReply.
  kJoined = 31,  // Server to scheduler: it has the ranges whose chains it was to join.
  kDrain = 32,   // Anybody to the scheduler: a server is to leave. Each is answered by how far that is.
  kDrainReply = 33,
  kVersioned = 34,  // Between clients and servers of versioned values, see src/quorum/message.h.
};
inline constexpr std::uint8_t kOpMax = 34;
const char* op_name(Op op);

namespace frame_flags {
// Push: the shard has no more steps in this epoch. Copy: the range has no rows behind these.
inline constexpr std::uint8_t kEndOfEpoch = 1;
// Pull: no push depends on it. Scan: only count the rows. Copy: how many the next rows are to be, and a
// digest.
inline constexpr std::uint8_t kReadOnly = 2;
// Push: the shard has no more steps in any epoch. Report: its program has ended well. Copy: nothing is to
// come.
inline constexpr std::uint8_t kEndOfWork = 4;
inline constexpr std::uint8_t kLate =
    8;  // A pull's answer: its step has closed, and a push to it is dropped.
inline constexpr std::uint8_t kNewer = 16;  // Pull: answered when there are rows of a later version than its.
inline constexpr std::uint8_t kKept =
    32;  // Waiting: the push has come, and is answered once others have it too.
inline constexpr std::uint8_t kState = 64;  // Load, copy: not rows, but what else is known of the range.
inline constexpr std::uint8_t kKnown = kEndOfEpoch | kReadOnly | kEndOfWork | kLate | kNewer | kKept | kState;
}  // namespace frame_flags

inline constexpr ShardId kNoShard{~0u};  // Of an observer's requests: it owns none.
inline constexpr std::uint16_t kWireVersion = 6;
inline constexpr std::uint8_t kBlockMax = 16;
inline constexpr std::size_t kHeaderBytes = 80;

struct FrameHeader {
  Op op{};
  std::uint8_t flags = 0;
  std::uint64_t cluster = 0;    // The job; frames of another job are refused.
  std::uint32_t map_epoch = 0;  // The sender's map; a data frame of another epoch is answered kStale.
  std::uint32_t request = 0;    // The sender's number of a request; its answer carries the same.
  TableId table{};
  RangeSpan ranges{};     // The key ranges that a data frame speaks for.
  Code code = Code::kOk;  // Answers: how it went; then `text` says why.
  ShardId shard{};
  std::uint32_t owner_epoch = 0;  // How often the shard has changed hands; a former owner is refused.
  Step step{};                    // Where that has no meaning, another number: numbered().
  std::uint8_t block = 0;         // Pushes: this one stands for data shards [shard, shard + 2^block).
  // One more than the updates that those rows have had which a pull's answer holds, on which a push was
  // computed, or which who pulls newer ones has; 0: not said. Entries, copies: the attempt by which who gets
  // them has come to the chain.
  std::uint32_t version = 0;

  std::uint32_t shard_count() const { return std::uint32_t{1} << block; }
};

// Of two such versions, where one is known.
inline std::uint32_t older_version(std::uint32_t a, std::uint32_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// A scan is answered in blocks: the index-th of `count`.
struct ScanBlock {
  std::uint32_t index = 0;
  std::uint32_t count = 0;
};

// What frames about barriers (BarrierId), reports (ReportId) and scans (ScanBlock) have in the place of a
// step.
template <class Number>
Number numbered(const FrameHeader& head) {
  return {head.step.epoch, head.step.index};
}
inline Step in_place_of_step(BarrierId id) { return {id.epoch, id.index}; }
inline Step in_place_of_step(ReportId id) { return {id.epoch, id.index}; }
inline Step in_place_of_step(ScanBlock block) { return {block.index, block.count}; }

// A header and up to two payload segments, shared and never changed, so that queueing, forwarding and
// retrying a frame copies nothing. Data frames: `first` holds u64 keys, `second` float values. Others:
// `first` is the message.
struct Frame {
  FrameHeader head;
  Bytes first;
  Bytes second;

  std::span<const std::uint64_t> keys() const { return first.as<std::uint64_t>(); }
  std::span<const float> values() const { return second.as<float>(); }
  std::size_t size_bytes() const { return kHeaderBytes + padded(first.size()) + padded(second.size()); }
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }
};

// What the header says that the payload must match.
struct PayloadLengths {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint64_t checksum = 0;
  std::size_t wire_bytes() const { return Frame::padded(first) + Frame::padded(second); }
};

// The header's bytes, with lengths and checksum of the payload, and a checksum of its own.
std::array<std::byte, kHeaderBytes> encode_header(const Frame& frame);
// Refuses a header that was damaged, a wrong magic, version, op, flag or a length above `frame_bytes_max`;
// nothing is allocated.
Result<PayloadLengths> decode_header(std::span<const std::byte, kHeaderBytes> bytes,
                                     std::size_t frame_bytes_max, FrameHeader& head);
// Whether what lies between and behind the segments is zero. `payload` is everything after the header.
Status check_padding(std::span<const std::byte> payload, const PayloadLengths& lengths);
// Whether the payload is as it was sent.
Status check_payload(const Frame& frame, const PayloadLengths& lengths);
// For a whole frame in one piece of memory; used by tests, fuzzers and the simulator's bit flips.
std::vector<std::byte> encode_frame(const Frame& frame);
Result<Frame> decode_frame(std::span<const std::byte> bytes);

// How a request or the job went, as the frame tells it.
Status status_of(const Frame& frame);
// Makes the frame tell that; unless OK, a text takes the first segment's place.
void put_status(Frame& frame, const Status& status);

// "push table 1 shard 3 step 0.17 ranges [0,256)": how errors and traces name a frame.
std::string describe(const FrameHeader& head);
std::string node_name(NodeId node);  // "server-2"

}  // namespace thalweg
