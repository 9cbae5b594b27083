#include "worker/pull_relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "worker/request.h"

namespace thalweg {

bool PullRelay::off() const {
  return member_.map().combine.kind != Combining::Kind::kTreeBothWays || member_.observer();
}

// As a pull of the whole table is cut.
std::vector<PullRelay::Piece> PullRelay::cut(TableId table) const {
  const wire::Map& map = member_.map();
  const TableSpec& spec = map.tables[table.value];
  std::vector<Piece> pieces;
  if (off() || spec.kind != TableSpec::Kind::kDense) return pieces;
  for (Slice& one : slice(spec, map.placement[table.value], {0, spec.ranges},
                          payload_of_pull(Keys::block(0, spec.rows)))) {
    if (!one.payload.empty()) pieces.push_back({one.ranges, std::move(one.payload.keys), {}});
  }
  return pieces;
}

std::vector<Frame> PullRelay::restart() {
  std::vector<Frame> asks;
  const auto before = std::exchange(pieces_, {});
  for (std::uint16_t t = 0; t < member_.map().tables.size(); ++t) {
    std::vector<Piece> pieces = cut(TableId{t});
    for (Piece& piece : pieces) {
      if (t < before.size()) {
        const auto known = std::ranges::find(before[t], piece.ranges, &Piece::ranges);
        if (known != before[t].end()) piece.rows = known->rows, piece.version = known->version;
      }
      asks.push_back(ask_of(TableId{t}, piece));
    }
    pieces_.push_back(std::move(pieces));
  }
  return asks;
}

Frame PullRelay::ask_of(TableId table, const Piece& piece) {
  Frame frame;
  frame.head.op = Op::kPull;
  frame.head.flags = frame_flags::kReadOnly | frame_flags::kNewer;
  frame.head.table = table;
  frame.head.ranges = piece.ranges;
  frame.head.shard = kNoShard;
  frame.head.version = piece.version;
  frame.first = piece.keys;
  return frame;
}

Frame PullRelay::answer(const FrameHeader& ask, const Piece& piece) {
  Frame frame;
  frame.head = ask;
  frame.head.op = Op::kPullReply;
  frame.head.flags = 0;
  frame.head.version = piece.version;
  frame.second = Bytes(piece.rows.owner(), std::as_bytes(piece.rows.span()));
  return frame;
}

template <class Tables>
auto* PullRelay::find(Tables& pieces, TableId table, RangeSpan ranges) {
  using Found = decltype(pieces[0].data());
  if (table.value >= pieces.size()) return Found{nullptr};
  const auto found = std::ranges::find(pieces[table.value], ranges, &Piece::ranges);
  return found == pieces[table.value].end() ? Found{nullptr} : &*found;
}

PullRelay::News PullRelay::on_rows(const FrameHeader& head, Rows rows) {
  News news;
  Piece* piece = find(pieces_, head.table, head.ranges);
  if (piece == nullptr) return news;
  if (head.version > piece->version) {
    piece->rows = std::move(rows);
    piece->version = head.version;
  }
  std::erase_if(piece->below, [&](const auto& asker) {
    const bool newer = piece->version > asker.second.version;
    if (newer) news.answers.emplace_back(asker.first, answer(asker.second, *piece));
    return newer;
  });
  news.ask = ask_of(head.table, *piece);
  return news;
}

Status PullRelay::check(NodeId from, const FrameHeader& head) const {
  if (Status epoch = member_.check_map_epoch(head); !epoch.ok()) return epoch;
  const bool child = from.role == Role::kWorker && member_.id() &&
                     member_.combine_tree().parent(from.index) == member_.id()->index;
  const bool asks = head.shard == kNoShard && (head.flags & frame_flags::kNewer) != 0;
  if (child && asks && find(pieces_, head.table, head.ranges) != nullptr) return ok_status();
  return {Code::kRefused, fmt::format("{}: this node has no rows for {}", describe(head), node_name(from))};
}

std::optional<Frame> PullRelay::on_ask(NodeId from, const FrameHeader& head) {
  Piece& piece = *find(pieces_, head.table, head.ranges);
  if (piece.version > head.version) return answer(head, piece);
  piece.below.insert_or_assign(from, head);
  return std::nullopt;
}

std::optional<PullRelay::Shown> PullRelay::show(TableId table, const Keys& keys) const {
  const std::vector<Piece>& pieces = pieces_[table.value];
  const std::size_t dim = member_.map().tables[table.value].dim;
  const std::uint64_t begin = (*keys.values())[0], end = begin + keys.size();
  Shown shown;
  std::vector<float> rows;
  for (const Piece& piece : pieces) {
    const auto block = piece.keys.as<std::uint64_t>();
    const std::uint64_t from = std::max(begin, block[0]), to = std::min(end, block[0] + block[1]);
    if (from >= to) continue;
    if (piece.version == 0) return std::nullopt;
    shown.version = older_version(shown.version, piece.version);
    const auto part = piece.rows.span().subspan((from - block[0]) * dim, (to - from) * dim);
    if (to - from == keys.size()) return Shown{Rows(piece.rows.owner(), part), shown.version};
    rows.insert(rows.end(), part.begin(), part.end());
  }
  shown.rows = Rows(std::move(rows));
  return shown;
}

template <class Wanted>
std::vector<PullRelay::OwnPull> PullRelay::take_held(const Wanted& wanted) {
  const auto middle =
      std::stable_partition(held_.begin(), held_.end(), [&](const OwnPull& pull) { return !wanted(pull); });
  std::vector<OwnPull> taken(std::make_move_iterator(middle), std::make_move_iterator(held_.end()));
  held_.erase(middle, held_.end());
  return taken;
}

std::vector<PullRelay::OwnPull> PullRelay::take_ready() {
  return take_held([this](const OwnPull& pull) { return show(pull.table, pull.keys).has_value(); });
}

std::vector<PullRelay::OwnPull> PullRelay::take_of(ShardId shard) {
  return take_held([shard](const OwnPull& pull) { return pull.shard == shard; });
}

std::vector<PullRelay::OwnPull> PullRelay::stop() {
  pieces_.clear();
  return std::exchange(held_, {});
}

}  // namespace thalweg
