#include "exchange/pipeline/negotiation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"

namespace thalweg {
namespace {

enum Kind : std::uint32_t {
  kHello =
      0x544f4c48,  // First in each direction: the hash of sizes, and the terms as `number` bytes of text.
  kReady,          // To rank 0: positions [first, first + number) are ready.
  kPiece,          // From rank 0: exchange [first, first + second).
  kFailed,         // Code `number`, and `first` bytes of text that follow.
};

std::uint64_t hash_sizes(std::span<const GradientSpec> tensors, std::uint32_t ranks) {
  std::uint64_t hash = splitmix(ranks);
  for (const GradientSpec& tensor : tensors) hash = splitmix(hash ^ tensor.elements);
  return hash;
}

std::string name_terms(std::span<const GradientSpec> tensors, const GradientOptions& options,
                       std::uint32_t ranks) {
  std::uint64_t elements = 0;
  for (const GradientSpec& tensor : tensors) elements += tensor.elements;
  const bool buckets = options.fusion == GradientOptions::Fusion::kBuckets;
  return fmt::format(
      "{} tensors of {} elements, the {} of {} among {} ranks, fused {} {} bytes, in pieces of {}, "
      "{}",
      tensors.size(), elements, reduction_name(options.reduction), data_type_name(options.type), ranks,
      buckets ? "into buckets of" : "where ready up to", options.bucket_bytes, options.piece_bytes,
      options.codec.empty() ? "not compressed" : "compressed by " + options.codec);
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Negotiation::Negotiation(const BucketLayout& layout, std::span<const GradientSpec> names,
                         const GradientOptions& options, std::uint32_t rank, std::uint32_t ranks,
                         std::uint16_t channel)
    : layout_(layout),
      names_(names),
      options_(options),
      rank_(rank),
      sizes_hash_(hash_sizes(names, ranks)),
      terms_(name_terms(names, options, ranks)),
      table_(rank == 0 ? layout.positions() : 0, ranks),
      queue_(layout, options),
      awaited_(rank == 0 ? 0 : layout.positions()) {
  if (!coordinates()) {
    peers_.emplace_back(0u, channel);
  } else {
    for (std::uint32_t peer = 1; peer < ranks; ++peer) peers_.emplace_back(peer, channel);
  }
  for (Peer& peer : peers_) {
    peer.link.put(Record{kHello, static_cast<std::uint32_t>(terms_.size()), sizes_hash_, 0});
    peer.link.put(terms_);
  }
}

void Negotiation::announce(std::uint32_t position, Instant now) {
  if (awaited_elements_ == 0) quiet_since_ = now;
  awaited_elements_ += layout_.block(position).count;
  if (!coordinates()) awaited_[position] = layout_.block(position).count;
  if (!fresh_.empty() && fresh_.back().end() == position) {
    ++fresh_.back().count;
  } else {
    fresh_.push_back({position, 1});
  }
}

void Negotiation::tell_fresh(Instant now) {
  for (const PositionRun run : fresh_) {
    if (!coordinates()) {
      peers_[0].link.put(Record{kReady, run.count, run.first, 0});
    } else if (Status status = take_ready(0, run, now); !status.ok()) {
      return fail(std::move(status));
    }
  }
  fresh_.clear();
}

void Negotiation::advance(Fabric& fabric, Instant now) {
  if (status_.ok()) tell_fresh(now);
  for (Peer& peer : peers_) {
    if (!status_.ok()) break;
    listen(peer, fabric, now);
  }
  if (status_.ok()) check_stall(now);
  for (Peer& peer : peers_) peer.link.flush(fabric);
}

void Negotiation::listen(Peer& peer, Fabric& fabric, Instant now) {
  while (status_.ok()) {
    if (peer.before_text) {
      const bool is_hello = peer.before_text->kind == kHello;
      const auto text = peer.link.take(fabric, is_hello ? peer.before_text->number : peer.before_text->first);
      if (!text) return;
      if (Status status = take_text(peer, *text); !status.ok()) fail(std::move(status));
      continue;
    }
    const auto bytes = peer.link.take(fabric, sizeof(Record));
    if (!bytes) return;
    Record record;
    std::memcpy(&record, bytes->data(), sizeof record);
    quiet_since_ = now;
    if (Status status = take(peer, record, now); !status.ok()) fail(std::move(status));
  }
}

Status Negotiation::take(Peer& peer, const Record& record, Instant now) {
  if (!peer.greeted && record.kind == kHello && record.number <= limits::kTextOfStatusMax) {
    peer.greeted = true;
    peer.before_text = record;
    return ok_status();
  }
  if (peer.greeted && record.kind == kReady && coordinates()) {
    if (record.first > layout_.positions()) return take_ready(peer.rank, {layout_.positions(), 1}, now);
    return take_ready(peer.rank, {static_cast<std::uint32_t>(record.first), record.number}, now);
  }
  if (peer.greeted && record.kind == kPiece && !coordinates()) return take_piece(record);
  if (peer.greeted && record.kind == kFailed && record.number > 0 &&
      record.number <= static_cast<std::uint32_t>(Code::kAborted) &&
      record.first <= limits::kTextOfStatusMax) {
    peer.before_text = record;
    return ok_status();
  }
  return {Code::kRefused,
          fmt::format("rank {} sends a record of kind {} to agree on gradients", peer.rank, record.kind)};
}

Status Negotiation::take_text(Peer& peer, std::span<const std::byte> bytes) {
  const Record record = *std::exchange(peer.before_text, std::nullopt);
  std::string text(bytes.size(), '\0');
  if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
  if (record.kind == kFailed) return {static_cast<Code>(record.number), std::move(text)};
  if (record.first == sizes_hash_ && text == terms_) return ok_status();
  if (text == terms_) text += " of other sizes, or in another order";
  return {Code::kRefused, fmt::format("rank {} has other gradients than rank {}: {}; here {}", peer.rank,
                                      rank_, text, terms_)};
}

Status Negotiation::take_ready(std::uint32_t rank, PositionRun run, Instant now) {
  complete_.clear();
  Status status = table_.announce(rank, run, now, complete_);
  for (const std::uint32_t position : complete_) queue_.add(position, now);
  return status;
}

Status Negotiation::take_piece(const Record& record) {
  const Block piece{record.first, record.second};
  const Status wrong{Code::kRefused,
                     fmt::format("rank 0 begins elements [{}, {}), which rank {} has not announced",
                                 record.first, record.first + record.second, rank_)};
  if (piece.count == 0 || piece.count > awaited_elements_ || piece.begin > layout_.elements() - piece.count) {
    return wrong;
  }
  std::uint32_t position = layout_.position_at(piece.begin);
  for (std::uint64_t at = piece.begin; at < piece.end(); ++position) {
    const std::uint64_t end = std::min(piece.end(), layout_.block(position).end());
    if (end - at > awaited_[position]) return wrong;
    awaited_[position] -= end - at;
    at = end;
  }
  awaited_elements_ -= piece.count;
  agreed_.push_back(piece);
  return ok_status();
}

bool Negotiation::has_credit(std::uint64_t bytes) const {
  return in_flight_bytes_ == 0 || options_.credit_bytes == 0 ||
         (in_flight_bytes_ < options_.credit_bytes && bytes <= options_.credit_bytes - in_flight_bytes_);
}

std::optional<Block> Negotiation::next() {
  if ((!status_.ok() && coordinates()) || !has_credit(1)) return std::nullopt;
  std::optional<Block> piece;
  if (coordinates()) {
    piece = queue_.front();
  } else if (!agreed_.empty()) {
    piece = agreed_.front();
  }
  if (!piece || !has_credit(piece->count * layout_.element_bytes())) return std::nullopt;
  begin(*piece);
  return piece;
}

void Negotiation::begin(Block piece) {
  if (coordinates()) {
    queue_.pop();
    awaited_elements_ -= piece.count;
    for (Peer& peer : peers_) peer.link.put(Record{kPiece, 0, piece.begin, piece.count});
  } else {
    agreed_.pop_front();
  }
  in_flight_bytes_ += piece.count * layout_.element_bytes();
  in_flight_bytes_max_ = std::max(in_flight_bytes_max_, in_flight_bytes_);
}

void Negotiation::finished(Block piece) {
  const std::uint64_t bytes = piece.count * layout_.element_bytes();
  THALWEG_CHECK(bytes <= in_flight_bytes_, "a piece ends once");
  in_flight_bytes_ -= bytes;
}

void Negotiation::fail(Status status) {
  if (!status_.ok()) return;
  status_ = std::move(status);
  const std::string text = status_.message().substr(0, limits::kTextOfStatusMax);
  for (Peer& peer : peers_) {
    peer.link.put(Record{kFailed, static_cast<std::uint32_t>(status_.code()), text.size(), 0});
    peer.link.put(text);
  }
}

bool Negotiation::flushed() const {
  return fresh_.empty() &&
         std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.link.sent(); });
}

void Negotiation::check_stall(Instant now) {
  if (now < next_deadline()) return;
  if (!coordinates()) {
    return fail(
        {Code::kTimeout, fmt::format("rank 0, which coordinates gradients, has said nothing for {:.3g} s",
                                     seconds(now - quiet_since_))});
  }
  const PieceQueue::Incomplete stalled = oldest();
  const std::uint32_t tensor = layout_.mirror(stalled.position);
  fail({Code::kTimeout,
        fmt::format("gradient {} '{}' has been waited for {:.3g} s: {}", tensor, names_[tensor].name,
                    seconds(now - stalled.since), table_.who(stalled.position))});
}

// The gradient that has been waited for longest: by ranks that have announced it, or by others of its bucket.
PieceQueue::Incomplete Negotiation::oldest() {
  const ReadyTable::Oldest announced = table_.oldest();
  const PieceQueue::Incomplete bucket = queue_.oldest_incomplete();
  if (announced.since <= bucket.since) return {announced.position, announced.since};
  return bucket;
}

// Rank 0 says what stalls; the others give it half as long again, and then say that rank 0 does.
Instant Negotiation::next_deadline() {
  if (!status_.ok()) return kNever;
  const Duration limit = options_.stall_timeout;
  if (coordinates()) {
    const Instant since = oldest().since;
    return since == kNever ? kNever : since + limit;
  }
  return awaited_elements_ == 0 ? kNever : quiet_since_ + limit + limit / 2;
}

}  // namespace thalweg
