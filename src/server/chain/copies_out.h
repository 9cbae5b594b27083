// What a server sends of ranges to those who join their chains behind it, piece by piece on the streams of
// their entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "base/frame.h"
#include "replication/copy_window.h"
#include "replication/outbox.h"
#include "server/chain/copy_state.h"
#include "server/chain/range_of.h"
#include "server/table_host.h"

namespace thalweg {

class CopiesOut {
 public:
  // Of the server, as its map has it.
  struct Ranges {
    std::function<TableHost&(RangeOf)> host;               // Where it has a range of whose chain it is.
    std::function<replication::StreamId(RangeOf)> stream;  // To who joins behind it.
  };
  // `outbox` outlives it.
  CopiesOut(Ranges ranges, replication::Outbox& outbox, std::size_t piece_bytes)
      : ranges_(std::move(ranges)), outbox_(outbox), piece_bytes_(piece_bytes) {}

  // By a newer map: begin_map(), expect() for each range that is joined, end_map(). What an attempt was sent
  // that has been given up is sent again.
  void begin_map();
  void expect(RangeOf range, std::uint32_t attempt);
  void end_map(Instant now);
  // As much as may be under way.
  void send(Instant now);
  bool is_done() const { return unsent_.empty(); }
  // Whether the joiner was told that it has all: what changes from then on is awaited, as by any copy.
  bool has_vouched(RangeOf range, std::uint32_t attempt) const;

 private:
  // A copy on its way: what is known of the range, its rows, what these come to, and what is known then.
  struct Unsent {
    RangeOf range;
    std::uint32_t joining = 0;
    enum class Next { kKnown, kRows, kDigests } next = Next::kKnown;
    std::uint64_t from = 0;  // The next row.
  };
  struct Copied {
    std::uint32_t joining = 0;
    bool vouched = false;
  };
  struct Sending {
    replication::StreamId to;
    std::uint64_t position = 0;  // In outbox_.
    std::size_t bytes = 0;
    Instant at;
  };
  NodeId joiner_of(RangeOf range) const { return ranges_.stream(range).server; }
  replication::CopyWindow& window_to(NodeId joiner);
  std::size_t under_way_to(NodeId joiner) const;
  // Whether that was all.
  bool send_piece(Unsent& unsent, Instant now);
  void send_known(const Unsent& unsent, const CopyState& known, std::uint8_t flags, Instant now);
  void add_piece(const Unsent& unsent, Frame piece, std::size_t bytes, Instant now);
  // For what joiners have been sent, where that is all that an attempt brings them from here.
  void vouch(Instant now);

  const Ranges ranges_;
  replication::Outbox& outbox_;
  const std::size_t piece_bytes_;
  std::deque<Unsent> unsent_;
  std::map<RangeOf, Copied> sent_;
  std::deque<Sending> sending_;  // Not acknowledged yet.
  std::map<NodeId, replication::CopyWindow> windows_;
  // Of the map before.
  std::deque<Unsent> unsent_before_;
  std::map<RangeOf, Copied> sent_before_;
};

}  // namespace thalweg
