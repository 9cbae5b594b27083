// A request under way: one answer to its maker, from one or several frames.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/frame.h"
#include "base/instant.h"
#include "thalweg/store.h"
#include "wire/messages.h"
#include "worker/combiner.h"

namespace thalweg {

enum class RequestKind : std::uint8_t { kPush, kPull, kBarrier, kReport, kScan, kCount, kMarks, kCombined };

struct Request {
  RequestKind kind{};
  std::shared_ptr<Completion> completion = std::make_shared<Completion>();
  ShardId shard;
  Step step;
  std::size_t open = 0;  // Parts without an answer.
  Instant started;
  Instant deadline;
  std::vector<ShardId> missing;  // Whom the peer waits for.
  std::vector<Bytes> answers;    // Pull: rows by part. Scan: rows by block.
  std::vector<Bytes> keys;       // Scan: keys by block.
  std::size_t width = 0;         // Scan: floats in a row.
  std::uint64_t count = 0;       // Count: the sum of the answers.
  wire::Marks marks;             // Marks: of all answers.
  std::vector<Asker> askers;     // Combined: those that its answer answers.
};

// One frame of a request, kept until it is answered; sending it again copies nothing.
struct RequestPart {
  std::shared_ptr<Request> request;
  std::size_t position = 0;  // Among the request's parts.
  NodeId to;
  NodeId by;  // To whom it was sent last: `to`, or the combiner on the way there.
  Frame frame;
  Instant retry_at;
  Duration backoff{};
  Duration refusal_wait{};           // Until it is sent again after a kRetry.
  std::uint64_t progress = 0;        // What its peer last said of others' progress.
  std::uint32_t combined_epoch = 0;  // The newest map under which it went by a combiner.
};

// The data frames of one push or pull: keys and values cut by server, and further where a frame would be too
// large.
struct Slice {
  std::uint32_t server = 0;
  RangeSpan ranges;
  Bytes keys;
  Bytes values;
};
std::vector<Slice> slice_push(const TableSpec& spec, std::uint32_t servers, const Keys& keys,
                              const Rows& grads);
// Servers that own none of the keys are left out.
std::vector<Slice> slice_pull(const TableSpec& spec, std::uint32_t servers, const Keys& keys);

}  // namespace thalweg
