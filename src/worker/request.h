// A request under way: one answer to its maker, from one or several frames.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/frame.h"
#include "base/instant.h"
#include "base/payload.h"
#include "placement/placement.h"
#include "staleness/reached.h"
#include "thalweg/store.h"
#include "wire/messages.h"
#include "worker/combiner.h"

namespace thalweg {

enum class RequestKind : std::uint8_t {
  kPush,
  kPull,
  kBarrier,
  kReport,
  kScan,
  kCount,
  kLoad,
  kMarks,
  kCombined,
  kFollow
};

struct Request {
  RequestKind kind{};
  TableId table;                           // Count, pull, follow.
  RangeSpan ranges;                        // Follow.
  std::shared_ptr<Completion> completion;  // Null: nobody's program waits.
  ShardId shard;
  Step step;
  std::size_t open = 0;           // Parts without an answer.
  std::size_t missing_parts = 0;  // Push: parts that no server is known to have.
  Instant started;
  Instant deadline;
  std::vector<ShardId> missing;  // Whom the peer waits for.
  std::vector<Bytes> answers;    // Pull: rows by part. Scan: rows by block.
  std::size_t late = 0;          // Pull: parts of which a push would be dropped.
  std::uint32_t version = 0;     // Pull, follow: of its oldest part, see FrameHeader.
  std::vector<Bytes> keys;       // Scan: keys by block.
  std::size_t width = 0;         // Scan: floats in a row.
  std::uint64_t count = 0;       // Count: the sum of the answers.
  Reached marks;                 // Marks: of all answers.
  std::vector<Asker> askers;     // Combined: those that its answer answers.
};

// One frame of a request, kept until it is answered; sending it again copies nothing. Where it is about a
// table's ranges it goes to their owner by the newest map; when they get several owners it becomes several.
struct RequestPart {
  std::shared_ptr<Request> request;
  std::size_t position = 0;  // Among the request's parts.
  NodeId to;                 // Who is to answer.
  NodeId by;                 // To whom it was sent last: `to`, or the combiner on the way there.
  Frame frame;
  Instant sent_at;    // For the first time.
  bool fresh = true;  // Sent once, and nothing heard about it.
  bool kept = false;  // Push: a server has it.
  Instant retry_at;
  Duration backoff{};
  Duration refusal_wait{};           // Until it is sent again after a kRetry.
  std::uint64_t progress = 0;        // What its peer last said of others' progress.
  std::uint32_t combined_epoch = 0;  // The newest map under which it went by a combiner.
};

// Of frames that are about ranges of a table; empty when no one server owns all of them.
std::optional<NodeId> owner_of(const wire::Map& map, const FrameHeader& head);

// A part of a push's or pull's keys and values, all of one owner.
struct Slice {
  RangeSpan ranges;
  Payload payload;
};
// All of a push, or of a pull.
Payload payload_of_push(const Keys& keys, const Rows& grads);
Payload payload_of_pull(const Keys& keys);
// Cuts what is about `ranges` by owner, and further where a frame would be too large; ascending.
std::vector<Slice> slice(const TableSpec& spec, const Placement& placement, RangeSpan ranges,
                         const Payload& whole);

}  // namespace thalweg
