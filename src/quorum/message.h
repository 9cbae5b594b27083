// What clients and servers of versioned values tell each other, in frames of Op::kVersioned.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/frame.h"
#include "quorum/version.h"

namespace thalweg::quorum {

enum class Kind : std::uint8_t {
  kGet,  // Client to a home of the key, which coordinates. Answered by kGot, or by kRing.
  kGot,  // The versions.
  kPut,  // The same; `context`: what the client has seen. Answered by kPutDone, or by kRing.
  kPutDone,
  kRing,  // The server is no home of the key, or the client's ring is an older one: who is on the ring, in
          // `digests`, and how many are homes.
  kRead,  // Coordinator to another server. Answered by kReadReply.
  kReadReply,
  kWrite,  // The same; `server`: whom it is for, who is another one where this is a hint.
  kWriteReply,
  kHandoff,  // A hint, to whom it is for. Answered by kHandoffReply with the same digest.
  kHandoffReply,
  kCompare,  // Digests of a tree node's children. Answered by those that differ, a level deeper.
  kLeaf,  // Keys from place `number` up to `end`, with their digests. Answered by kSync of those that differ.
  kSync,  // Records; `more`: answered by what the other has beyond them.
  kScan,  // Who lost its disk to another server: records from place `number` on. Answered by kPage.
  kPage,  // `more`: there are others from place `end` on.
  kStanding,       // Anybody to a server: how does it stand? Answered by kStandingReply.
  kStandingReply,  // `value`: as standing.h has it.
};
inline constexpr Kind kKindLast = Kind::kStandingReply;
const char* kind_name(Kind kind);

struct KeyedRecord {
  Key key = 0;
  Record record;
};

// One form for all: a field that a kind has no use for is 0 or empty.
struct Message {
  Kind kind{};
  // Requests: a number that no other of the sender has, in this life or another; answers: the same. Digests
  // and places as said above.
  std::uint64_t number = 0;
  Key key = 0;
  std::uint64_t end = 0;  // Put: the number of its first try.
  std::uint32_t server = 0;
  std::uint32_t index = 0;  // Of a node on its level. Get, put, ring: the epoch of the sender's ring.
  std::uint8_t level = 0;
  bool more = false;
  VectorClock context;
  Bytes value;
  std::vector<KeyedRecord> records;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> digests;
};

// A put value that is larger than that has no frame.
Frame frame_of(const Message& message);
// The answer that a request has failed.
Frame failure_of(Kind kind, std::uint64_t number, const Status& status);
// Empty when the bytes are not exactly one message within its limits.
std::optional<Message> decode_message(const Bytes& bytes);
// Which request failed, and why not.
struct Failure {
  Kind kind{};
  std::uint64_t number = 0;
  Status why;
};
std::optional<Failure> decode_failure(const Frame& frame);

}  // namespace thalweg::quorum
