#include "server/chain/copies_in.h"

#include <algorithm>

#include "server/chain/copy_state.h"

namespace thalweg {

void CopiesIn::end_map() {
  std::erase_if(joined_, [&](const auto& entry) { return !expects(entry.first, entry.second); });
  std::erase_if(arriving_, [&](const auto& entry) { return !expects(entry.first, entry.second.joining); });
}

bool CopiesIn::expects(RangeOf range, std::uint32_t attempt) const {
  const auto joining = joining_.find(range);
  return joining != joining_.end() && joining->second == attempt;
}

bool CopiesIn::has_of(RangeOf range, std::uint32_t attempt) const {
  const auto joined = joined_.find(range);
  if (joined != joined_.end() && joined->second == attempt) return true;
  const auto arriving = arriving_.find(range);
  return arriving != arriving_.end() && arriving->second.joining == attempt && arriving->second.begun;
}

Status CopiesIn::take(const Frame& piece, TableHost& copies, std::uint32_t shards) {
  const FrameHeader& head = piece.head;
  Arriving& arriving = arriving_[{head.table, RangeId{head.ranges.begin}}];
  arriving.joining = head.owner_epoch;
  if ((head.flags & frame_flags::kState) == 0) return take_rows(arriving, copies, piece);
  const auto bytes = piece.first.span();
  arriving.bytes.insert(arriving.bytes.end(), bytes.begin(), bytes.end());
  if (head.request > 0) return ok_status();
  if (Status taken = take_known(arriving, copies, piece, shards); !taken.ok()) return taken;
  arriving.whole = (head.flags & frame_flags::kEndOfWork) != 0;
  return ok_status();
}

void CopiesIn::on_vouched(std::uint32_t attempt, const IsOf& is_its) {
  std::erase_if(arriving_, [&](const auto& entry) {
    const auto& [range, arriving] = entry;
    const bool its = arriving.whole && arriving.joining == attempt && is_its(range);
    if (its) joined_[range] = attempt;
    return its;
  });
}

bool CopiesIn::has_all(const IsOf& of_these) const {
  return std::ranges::all_of(
      joining_, [&](const auto& entry) { return joined_.contains(entry.first) || !of_these(entry.first); });
}

Status CopiesIn::take_known(Arriving& arriving, TableHost& copies, const Frame& piece, std::uint32_t shards) {
  const RangeId range{piece.head.ranges.begin};
  const Bytes whole = Bytes::of(std::exchange(arriving.bytes, {}));
  auto known = decode_copy_state(whole, copies.table().spec(), shards);
  const bool ends = (piece.head.flags & frame_flags::kEndOfWork) != 0;
  if (!known || known->state.range != range || ends != arriving.begun || (ends && copies.fills_copy(range)))
    return {Code::kData, "it is no copy of a range"};
  arriving.begun = true;
  return ends ? copies.end_copy(*std::move(known)) : copies.begin_copy(*std::move(known));
}

Status CopiesIn::take_rows(Arriving& arriving, TableHost& copies, const Frame& piece) {
  const RangeId range{piece.head.ranges.begin};
  const bool last = (piece.head.flags & frame_flags::kEndOfEpoch) != 0;
  const bool digests = (piece.head.flags & frame_flags::kReadOnly) != 0;
  if (!arriving.begun || digests == copies.fills_copy(range))
    return {Code::kData, "it is no piece of a copy"};
  if (!digests) return copies.fill_copy(range, {piece.first, piece.second}, last);
  if (piece.first.size() != 2 * sizeof(std::uint64_t)) return {Code::kData, "it is no digest of rows"};
  const std::uint64_t count = piece.first.as<std::uint64_t>()[0], sum = piece.first.as<std::uint64_t>()[1];
  const Payload rows = copies.copied_rows(range, arriving.compared, count + (last ? 1 : 0));
  if (digest(rows) != sum) return {Code::kData, "the copy has another digest than what was sent"};
  if (!last && !rows.empty()) arriving.compared = rows.keys.as<std::uint64_t>().back() + 1;
  return ok_status();
}

}  // namespace thalweg
