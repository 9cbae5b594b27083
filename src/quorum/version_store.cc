#include "quorum/version_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/coverage/reached.h"
#include "quorum/limits.h"

namespace thalweg::quorum {

VersionStore::VersionStore(HashRing ring, std::uint32_t self, std::uint32_t replicas, std::uint32_t life,
                           StoreLimits limits)
    : ring_(std::move(ring)),
      self_(self),
      replicas_(replicas),
      life_(life),
      complete_(life == 0),
      limits_(limits) {
  THALWEG_CHECK(ring_.has(self), "a server is on its own ring");
  for (const std::uint32_t server : ring_.servers()) {
    if (server != self) trees_.try_emplace(server);
  }
}

bool VersionStore::is_home(Key key) const { return std::ranges::count(homes(key), self_) > 0; }

bool VersionStore::shares(Key key, std::uint32_t peer) const {
  const auto all = homes(key);
  return std::ranges::count(all, self_) > 0 && std::ranges::count(all, peer) > 0;
}

const Record* VersionStore::find(Key key) const {
  const auto found = records_.find(place(key));
  return found == records_.end() ? nullptr : &found->second;
}

Status VersionStore::put(Key key, const VectorClock& context, Bytes value, PutName put) {
  const VectorClock::Actor actor = actor_of(self_, life_);
  const Record* own = find(key);
  if (own != nullptr && own->has(put)) {
    THALWEG_REACHED(kPutTriedAgain);
    return ok_status();
  }
  const std::uint64_t known = own == nullptr ? 0 : own->clock().at(actor);
  if (context.at(actor) > known) {
    return {Code::kRefused,
            fmt::format(
                "the context of a put of key {} has seen {} puts of this server, which has had {} of that "
                "key; expected the context of a get of the same key",
                key, context.at(actor), known)};
  }
  Record with = own == nullptr ? Record() : *own;
  with.add({{actor, known + 1}, context, std::move(value), put});
  if (with.versions().size() > kSiblingsMax || with.bytes() > kRecordBytesMax) {
    return {
        Code::kRefused,
        fmt::format("key {} has {} versions of {} bytes side by side, at most {} of {} bytes are kept; get "
                    "them and put one with the context that comes with them",
                    key, with.versions().size(), with.bytes(), kSiblingsMax, kRecordBytesMax)};
  }
  if (with.clock().entries().size() > kClockEntriesMax) {
    return {Code::kRefused, fmt::format("the clock of key {} has {} entries, at most {} are kept", key,
                                        with.clock().entries().size(), kClockEntriesMax)};
  }
  const std::size_t bytes_before = own == nullptr ? 0 : own->bytes();
  const std::size_t others = bytes_ - bytes_before;
  if (with.bytes() > bytes_before && with.bytes() > limits_.bytes - others) {
    return {
        Code::kRefused,
        fmt::format("a put of key {} makes {} bytes of versions where {} are kept already, at most {} are",
                    key, with.bytes(), others, limits_.bytes)};
  }
  bytes_ = others + with.bytes();
  const std::uint64_t before = own == nullptr ? 0 : own->digest(key);
  const std::uint64_t after = with.digest(key);
  records_[place(key)] = std::move(with);
  changed(key, before, after);
  return ok_status();
}

bool VersionStore::merge(Key key, const Record& record) {
  if (record.empty() || !takes(record)) return false;
  const auto [found, is_new] = records_.try_emplace(place(key));
  Record& own = found->second;
  const std::uint64_t before = own.digest(key);
  const std::size_t bytes_before = is_new ? 0 : own.bytes();
  if (!own.merge(record)) return false;
  bytes_ += own.bytes() - bytes_before;
  changed(key, before, own.digest(key));
  return true;
}

void VersionStore::changed(Key key, std::uint64_t before, std::uint64_t after) {
  if (journal_ != nullptr) journal_->note(key, records_.at(place(key)));
  for (const std::uint32_t home : homes(key)) {
    if (home != self_) trees_.at(home).change(place(key), before, after);
  }
}

bool VersionStore::keep_hint(std::uint32_t target, Key key, const Record& record) {
  const auto found = hints_.find({target, key});
  if (found == hints_.end() && hints_.size() >= limits_.hints) return false;
  if (!takes(record)) return false;
  const std::size_t before = found == hints_.end() ? 0 : found->second.bytes();
  Record& hint = hints_[{target, key}];
  if (hint.merge(record) && journal_ != nullptr) journal_->note_hint(target, key, &hint);
  bytes_ += hint.bytes() - before;
  return true;
}

bool VersionStore::drop_hint(std::uint32_t target, Key key, std::uint64_t digest) {
  const auto found = hints_.find({target, key});
  if (found == hints_.end() || found->second.digest(key) != digest) return false;
  bytes_ -= found->second.bytes();
  hints_.erase(found);
  if (journal_ != nullptr) journal_->note_hint(target, key, nullptr);
  return true;
}

Record VersionStore::hinted(Key key) const {
  Record all;
  for (const std::uint32_t home : homes(key)) {
    const auto found = hints_.find({home, key});
    if (found != hints_.end()) all.merge(found->second);
  }
  return all;
}

const MerkleTree* VersionStore::tree(std::uint32_t peer) const {
  const auto found = trees_.find(peer);
  return found == trees_.end() ? nullptr : &found->second;
}

}  // namespace thalweg::quorum
