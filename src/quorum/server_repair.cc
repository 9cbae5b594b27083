// What servers do for each other between requests: hand hints over, compare what they have, and restore what
// one has lost.
#include <algorithm>
#include <iterator>

#include "base/coverage/reached.h"
#include "base/planted.h"
#include "quorum/limits.h"
#include "quorum/server.h"

namespace thalweg::quorum {

void Server::background(Instant now, Transport& out) {
  if (peers_.empty()) return store_.set_complete();
  for (const std::uint32_t peer : peers_) hand_off(peer, out);
  if (!store_.complete()) restore(now, out);
  if (THALWEG_BUG(kNeverCompared)) return;
  compare_with(peers_[next_peer_], 0, 0, out);
  next_peer_ = (next_peer_ + 1) % peers_.size();
}

// To a server that has been silent one, which tells whether it is back.
void Server::hand_off(std::uint32_t target, Transport& out) {
  std::size_t room = silent_.contains(target) ? 1 : kHintsInFlightMax;
  const auto& hints = store_.hints();
  for (auto it = hints.lower_bound({target, 0}); it != hints.end() && it->first.first == target; ++it) {
    if (room-- == 0) return;
    hand_over(*it, out);
  }
}

void Server::hand_over(const VersionStore::Hints::value_type& hint, Transport& out) const {
  Message message;
  message.kind = Kind::kHandoff;
  message.key = hint.first.second;
  message.number = hint.second.digest(message.key);
  message.server = hint.first.first;
  message.records.push_back({message.key, hint.second});
  out.send(server_node(message.server), frame_of(message));
}

// The next hint takes the place of one that is dropped, so that as many stay in flight.
void Server::on_handed_over(std::uint32_t target, const Message& reply, Transport& out) {
  if (THALWEG_BUG(kHintKept)) return;
  if (!store_.drop_hint(target, reply.key, reply.number)) return;
  THALWEG_REACHED(kHintDelivered);
  ++counts_.hints_delivered;
  const auto& hints = store_.hints();
  auto next = hints.lower_bound({target, 0});
  for (std::size_t i = 1; i < kHintsInFlightMax && next != hints.end(); ++i) ++next;
  if (next != hints.end() && next->first.first == target) hand_over(*next, out);
}

void Server::compare_with(std::uint32_t peer, std::uint8_t level, std::uint32_t index, Transport& out) {
  Message message;
  message.kind = Kind::kCompare;
  message.level = level;
  message.index = index;
  for (const std::uint64_t child : store_.tree(peer)->children(level, index))
    message.digests.emplace_back(child, 0);
  out.send(server_node(peer), frame_of(message));
}

void Server::on_compare(NodeId from, const Message& theirs, Transport& out) {
  if (theirs.level >= MerkleTree::kLevels || theirs.index >= MerkleTree::nodes(theirs.level) ||
      theirs.digests.size() != MerkleTree::kFan)
    return;
  const auto own = store_.tree(from.index)->children(theirs.level, theirs.index);
  std::size_t followed = 0;
  for (std::uint32_t child = 0; child < MerkleTree::kFan && followed < kDescendMax; ++child) {
    if (own[child] == theirs.digests[child].first) continue;
    THALWEG_REACHED(kLeavesDiffered);
    ++followed;
    const auto index = static_cast<std::uint32_t>(theirs.index * MerkleTree::kFan + child);
    if (theirs.level + 1 == MerkleTree::kLevels) {
      send_leaf(from.index, index, out);
    } else {
      compare_with(from.index, static_cast<std::uint8_t>(theirs.level + 1), index, out);
    }
  }
}

// In as many messages as it takes, each of which speaks for a part of the leaf's places.
void Server::send_leaf(std::uint32_t peer, std::uint32_t leaf, Transport& out) {
  Message message;
  message.kind = Kind::kLeaf;
  message.number = MerkleTree::first_place(leaf);
  const auto& records = store_.records();
  const auto send_until = [&](PlacedKey last) {
    message.end = last;
    out.send(server_node(peer), frame_of(message));
    message.digests.clear();
    message.number = last + 1;
  };
  for (auto it = records.lower_bound(message.number);
       it != records.end() && it->first <= MerkleTree::last_place(leaf); ++it) {
    const Key key = unplace(it->first);
    if (!store_.shares(key, peer)) continue;
    if (message.digests.size() == kDigestsMax) send_until(it->first - 1);
    message.digests.emplace_back(key, it->second.digest(key));
  }
  send_until(MerkleTree::last_place(leaf));
}

void Server::on_leaf(NodeId from, const Message& theirs, Transport& out) {
  std::map<PlacedKey, std::uint64_t> differing;  // Their digests, of keys of which ours is another one.
  for (const auto& [key, digest] : theirs.digests) {
    if (key == kReservedKey || !store_.shares(key, from.index)) continue;
    const Record* own = store_.find(key);
    if (own == nullptr || own->digest(key) != digest) differing[place(key)] = digest;
  }
  const auto listed = [&](Key key) {
    return std::ranges::any_of(theirs.digests, [&](const auto& one) { return one.first == key; });
  };
  const auto& records = store_.records();
  for (auto it = records.lower_bound(theirs.number); it != records.end() && it->first <= theirs.end; ++it) {
    const Key key = unplace(it->first);
    if (store_.shares(key, from.index) && !listed(key)) differing[it->first] = 0;
  }
  Message message;
  message.kind = Kind::kSync;
  message.more = true;
  std::size_t bytes = 0;
  const auto send = [&] {
    if (message.records.empty()) return;
    out.send(from, frame_of(message));
    message.records.clear();
    bytes = 0;
  };
  for (const auto& [at, digest] : differing) {
    const Key key = unplace(at);
    const Record* own = store_.find(key);
    message.records.push_back({key, own == nullptr ? Record() : *own});
    bytes += message.records.back().record.bytes();
    if (message.records.size() == kRecordsMax || bytes >= kPageBytes) send();
  }
  send();
}

void Server::on_sync(NodeId from, const Message& theirs, Transport& out) {
  Message back;
  back.kind = Kind::kSync;
  std::size_t bytes = 0;
  for (const KeyedRecord& one : theirs.records) {
    if (one.key == kReservedKey || !store_.is_home(one.key)) continue;
    if (store_.merge(one.key, one.record)) ++counts_.synced;
    const Record* own = store_.find(one.key);
    if (!theirs.more || own == nullptr || !store_.shares(one.key, from.index)) continue;
    if (own->digest(one.key) == one.record.digest(one.key) || bytes >= kPageBytes) continue;
    bytes += own->bytes();
    back.records.push_back({one.key, *own});
  }
  if (!back.records.empty()) out.send(from, frame_of(back));
}

void Server::restore(Instant now, Transport& out) {
  if (now < restore_from_) return;
  for (auto& [peer, restore] : restores_) {
    if (!restore.done) scan_next(peer, restore, out);
  }
}

void Server::scan_next(std::uint32_t peer, Restore& restore, Transport& out) {
  restore.number = next_number_++;
  Message message;
  message.kind = Kind::kScan;
  message.number = restore.number;
  message.end = restore.next;
  out.send(server_node(peer), frame_of(message));
}

void Server::on_scan(NodeId from, const Message& asked, Transport& out) {
  Message page;
  page.kind = Kind::kPage;
  page.number = asked.number;
  std::size_t bytes = 0;
  const auto& records = store_.records();
  for (auto it = records.lower_bound(asked.end); it != records.end(); ++it) {
    const Key key = unplace(it->first);
    if (!store_.shares(key, from.index)) continue;
    if (page.records.size() == kRecordsMax || bytes >= kPageBytes) {
      page.more = true;
      page.end = it->first;
      break;
    }
    page.records.push_back({key, it->second});
    bytes += it->second.bytes();
  }
  out.send(from, frame_of(page));
}

void Server::on_page(NodeId from, const Message& page, Transport& out) {
  const auto found = restores_.find(from.index);
  if (found == restores_.end() || found->second.done || found->second.number != page.number) return;
  for (const KeyedRecord& one : page.records) {
    if (one.key == kReservedKey || !store_.is_home(one.key)) continue;
    if (!store_.takes(one.record)) return;  // It asks again later, and answers no gets before it has all.
    if (store_.merge(one.key, one.record)) ++counts_.restored;
  }
  Restore& restore = found->second;
  restore.done = !page.more;
  restore.next = page.end;
  if (!restore.done) return scan_next(from.index, restore, out);
  if (!std::ranges::all_of(restores_, [](const auto& one) { return one.second.done; })) return;
  THALWEG_REACHED(kDiskRestored);
  store_.set_complete();
}

}  // namespace thalweg::quorum
