// The part of Server that gives out what its ranges hold, for a checkpoint.
#include <algorithm>
#include <utility>

#include "server/server.h"

namespace thalweg {

using State = wire::CheckpointReport::State;

// An order that cannot be followed yet is sent again.
void Server::on_checkpoint(const Frame& frame, Transport& out) {
  auto order = wire::decode_checkpoint_order(frame.first);
  if (!order || frame.head.map_epoch != map().epoch || tables_.empty()) return;
  if (order->number < checkpoint_.number) return;
  const auto awaits = [](const RangeSet& awaited) { return !awaited.empty(); };
  if (order->number > checkpoint_.number) {
    if (work_.busy() || std::ranges::any_of(awaited_, awaits)) return;
    checkpoint_ = {order->number, State::kOpen, {}, {}};
    order_ = *std::move(order);
    if (work_.possible()) {
      begin_cut();
    } else {
      checkpoint_.state = State::kFailed;
      checkpoint_.text = node_name(*member_.id()) + " stores no checkpoints";
    }
    collect_cut();
  }
  report_checkpoint(out);
}

void Server::begin_cut() {
  Step clock;
  bool passed = false;
  for (const auto& host : tables_) {
    if (host->owned().empty()) continue;
    passed = !host->cut_before(order_.step, {order_.number, order_.since}) || passed;
    clock = std::max(clock, host->cut_clock());
  }
  checkpoint_.clock = clock;
  if (!passed) return;
  drop_cuts();
  checkpoint_.state = State::kPassed;
}

void Server::drop_cuts() {
  for (const auto& host : tables_) host->drop_cut();
}

// Once every table is cut. Cuts of an order that came too late to be of use are dropped: the work has ended.
void Server::collect_cut() {
  if (checkpoint_.state != State::kOpen || work_.busy()) return;
  Step clock;
  for (const auto& host : tables_) {
    if (host->owned().empty()) continue;
    if (!host->has_cut()) return;
    clock = std::max(clock, host->cut_clock());
  }
  checkpoint_.clock = clock;
  if (clock == kEndOfWork) {
    checkpoint_.state = State::kPassed;
    return drop_cuts();
  }
  Cut cut{self(), order_, {}};
  for (const auto& host : tables_)
    cut.tables.push_back(host->has_cut() ? host->take_cut() : TableCut{host->owned()});
  work_.begin(std::move(cut));
  feed_cut();
}

// A turn copies as much as takes a few milliseconds. Small ranges share a piece.
void Server::feed_cut() {
  std::vector<CutWork::Piece> pieces;
  std::size_t bytes = 0;
  std::uint16_t table = 0;
  while (table < tables_.size() && bytes < options_.cut_piece_bytes) {
    auto rows = tables_[table]->next_of_cut(options_.cut_piece_bytes);
    if (!rows) {
      ++table;
      continue;
    }
    bytes += rows->rows.keys.size() + rows->rows.values.size();
    pieces.push_back({TableId{table}, *std::move(rows)});
  }
  work_.put(std::move(pieces), table == tables_.size());
}

void Server::report_checkpoint(Transport& out) const {
  if (checkpoint_.number > 0) member_.tell(Op::kCheckpointReply, ok_status(), encode(checkpoint_), out);
}

// Rows of ranges that come or go are none of a boundary any more.
void Server::forget_cut(Transport& out) {
  if (checkpoint_.state != State::kOpen) return;
  drop_cuts();
  checkpoint_.state = State::kFailed;
  checkpoint_.text = "key ranges have moved";
  report_checkpoint(out);
}

void Server::on_computed(Instant now, Transport& out) {
  now_ = now;
  const bool wanted = !finished() && checkpoint_.state == State::kOpen;
  if (wanted && !work_.done()) return feed_cut();
  auto [number, stored] = work_.finish();
  drop_cuts();  // What a disk refused is not walked to its end.
  if (!wanted || number != checkpoint_.number) return;
  checkpoint_.state = stored.ok() ? State::kStored : State::kFailed;
  checkpoint_.text =
      stored.ok() ? *std::move(stored) : node_name(*member_.id()) + ": " + stored.status().message();
  report_checkpoint(out);
}

}  // namespace thalweg
