// Ranks agree on what to exchange next, whatever order each of them announces its gradients in. Rank 0
// coordinates, as in Horovod (Sergeev, Del Balso 2018, section 3): ranks tell it what is ready, and it tells
// them the pieces to exchange, in order, as fast as its own pieces come to an end.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "exchange/pipeline/bucket_layout.h"
#include "exchange/pipeline/piece_queue.h"
#include "exchange/pipeline/ready_table.h"
#include "exchange/pipeline/record_link.h"
#include "node/fabric.h"
#include "thalweg/gradients.h"
#include "thalweg/status.h"

namespace thalweg {

class Negotiation {
 public:
  // `layout` and `names` (by tensor) outlive it. All ranks use the same `channel`, for nothing else.
  Negotiation(const BucketLayout& layout, std::span<const GradientSpec> names, const GradientOptions& options,
              std::uint32_t rank, std::uint32_t ranks, std::uint16_t channel);

  // This rank's gradient at `position` is ready. Precondition: what it announced there before has ended.
  void announce(std::uint32_t position, Instant now);
  // Sends and takes what the links let through.
  void advance(Fabric& fabric, Instant now);
  // The next piece to begin, on every rank in the same order; none while too many bytes are under way. Call
  // advance() afterwards, so that the others learn it.
  std::optional<Block> next();
  // A piece of next() has been exchanged.
  void finished(Block piece);
  // Ends the negotiation on every rank, after the pieces that rank 0 has begun: what ranks agreed on before,
  // next() still gives.
  void fail(Status status);
  // Whether gradients announced here wait for others, and whether all has been sent.
  bool awaiting() const { return awaited_elements_ > 0; }
  bool flushed() const;
  const Status& status() const { return status_; }
  // When advance() is due even if no link changes.
  Instant next_deadline();

  std::uint64_t units() const { return queue_.units(); }  // What has been fused, at rank 0.
  std::uint64_t in_flight_bytes_max() const { return in_flight_bytes_max_; }

 private:
  struct Peer {
    explicit Peer(std::uint32_t peer_rank, std::uint16_t channel)
        : rank(peer_rank), link(Link{peer_rank, channel}) {}
    std::uint32_t rank;
    RecordLink link;
    bool greeted = false;
    std::optional<Record> before_text;  // A record whose text is to come.
  };

  bool coordinates() const { return rank_ == 0; }
  bool has_credit(std::uint64_t bytes) const;
  void begin(Block piece);
  void tell_fresh(Instant now);
  void listen(Peer& peer, Fabric& fabric, Instant now);
  Status take(Peer& peer, const Record& record, Instant now);
  Status take_text(Peer& peer, std::span<const std::byte> bytes);
  Status take_ready(std::uint32_t rank, PositionRun run, Instant now);
  Status take_piece(const Record& record);
  void check_stall(Instant now);
  PieceQueue::Incomplete oldest();

  const BucketLayout& layout_;
  std::span<const GradientSpec> names_;
  const GradientOptions options_;
  std::uint32_t rank_;
  std::uint64_t sizes_hash_;        // What ranks must agree on beforehand: the tensors' sizes,
  std::string terms_;               // and the rest in words.
  std::vector<Peer> peers_;         // Rank 0, or for rank 0 all others.
  std::vector<PositionRun> fresh_;  // Announced here, not yet told.
  ReadyTable table_;                // Rank 0 only, as the next two.
  PieceQueue queue_;
  std::vector<std::uint32_t> complete_;
  std::deque<Block> agreed_;      // Other ranks only: told by rank 0, not begun.
  Instant quiet_since_ = kNever;  // Other ranks only: the last word of rank 0, while something is awaited.
  std::vector<std::uint64_t> awaited_;  // Other ranks only, by position: elements announced, not agreed on.
  std::uint64_t awaited_elements_ = 0;  // Announced here, not agreed on.
  std::uint64_t in_flight_bytes_ = 0;
  std::uint64_t in_flight_bytes_max_ = 0;
  Status status_;
};

}  // namespace thalweg
