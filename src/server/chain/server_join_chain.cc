// The part of Server by which copies of a lost server are made again. Whoever joins a chain comes behind its
// last server: that sends what each range holds, on the stream on which it sends its entries, and behind that
// the entries. So once all copies have come, and the sender says so on the stream, the joiner has all that
// the others have acknowledged until then, and they acknowledge no more that it has not got. van Renesse,
// Schneider, "Chain Replication for Supporting High Throughput and Availability", OSDI 2004, section 3.3.
#include "base/coverage/reached.h"
#include "base/planted.h"
#include "server/server.h"

namespace thalweg {
namespace {

// Calls visit(range) for each range of a run.
template <class Visit>
void for_each_range(TableId table, RangeSpan run, const Visit& visit) {
  for (std::uint16_t range = run.begin; range < run.end; ++range) visit(RangeOf(table, RangeId{range}));
}

}  // namespace

// What an attempt that was given up has brought here is not kept, and what it sent there is sent again.
void Server::follow_joins(Transport& out) {
  copies_in_.begin_map();
  copies_out_.begin_map();
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    const Placement& placement = map().placement[t];
    RangeSet kept = placement.copied_by(self());
    for (const PlacedRun& run : placement.joined_by(self())) {
      for_each_range(TableId{t}, run.ranges, [&](RangeOf range) {
        copies_in_.expect(range, run.joining);
        if (copies_in_.has_of(range, run.joining)) kept.add(only(range.second));
        if (THALWEG_BUG(kJoinedUnseen)) copies_in_.note_joined(range, run.joining);
      });
    }
    if (const RangeSet rest = copies_[t]->owned() - kept; !rest.empty()) {
      THALWEG_REACHED(kJoinGivenUp);
      copies_[t]->drop(rest);
    }
    for (const PlacedRun& run : placement.joiners_of(self())) {
      for_each_range(TableId{t}, run.ranges, [&](RangeOf range) { copies_out_.expect(range, run.joining); });
    }
  }
  copies_in_.end_map();
  if (THALWEG_BUG(kJoinedUnseen) && copies_in_.any_joined()) tell_joined(out);
  copies_out_.end_map(now_);
  send_copies(out);
}

void Server::send_copies(Transport& out) {
  copies_out_.send(now_);
  send_entries(out);
}

CopiesOut::Ranges Server::ranges_to_copy() {
  return {[this](RangeOf range) -> TableHost& {
            const std::size_t t = range.first.value;
            return *(map().placement[t].owner(range.second) == self() ? tables_ : copies_)[t];
          },
          [this](RangeOf range) { return *next_of(range.first, only(range.second)); }};
}

Status Server::take_piece(NodeId from, const Frame& piece) {
  const FrameHeader& head = piece.head;
  const RangeOf range{head.table, RangeId{head.ranges.begin}};
  const std::size_t t = head.table.value;
  const bool wanted = head.ranges.size() == 1 && copies_in_.expects(range, head.owner_epoch) &&
                      map().placement[t].before(head.ranges, self()) == from.index;
  if (!wanted) return ok_status();
  if (head.flags == frame_flags::kEndOfWork) {
    copies_in_.on_vouched(head.owner_epoch, [&](RangeOf of) {
      return of.first == head.table && lineage_of(of.first, of.second) == head.shard.value;
    });
    return ok_status();
  }
  room_left_ = 0;
  return copies_in_.take(piece, *copies_[t], static_cast<std::uint32_t>(map().shards.size()));
}

bool Server::has_all_of(NodeId sender) const {
  return copies_in_.has_all([&](RangeOf range) {
    return map().placement[range.first.value].before(only(range.second), self()) == sender.index;
  });
}

// Whole runs, for each change of the map makes workers ask anew.
void Server::tell_joined(Transport& out) const {
  wire::Joined message;
  for (std::uint16_t t = 0; t < tables_.size(); ++t) {
    for (const PlacedRun& run : map().placement[t].joined_by(self())) {
      bool whole = true;
      for_each_range(TableId{t}, run.ranges,
                     [&](RangeOf range) { whole = whole && copies_in_.has_joined(range); });
      if (whole) message.runs.push_back({TableId{t}, run.ranges, run.joining});
    }
  }
  if (!message.runs.empty()) member_.tell(Op::kJoined, ok_status(), encode(message), out);
}

}  // namespace thalweg
