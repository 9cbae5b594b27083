// What a server has: the records of keys that it is a home of, hints for others, and a digest tree for each
// server that it shares homes with. It outlives the server's process; who drives that keeps it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "placement/hash_ring.h"
#include "quorum/journal.h"
#include "quorum/limits.h"
#include "quorum/merkle_tree.h"
#include "quorum/version.h"
#include "thalweg/status.h"

namespace thalweg::quorum {

struct StoreLimits {
  std::size_t hints = kHintsMax;
  std::size_t bytes = ~std::size_t{0};  // Of all versions, hints among them.
};

class VersionStore {
 public:
  // `life`: one more each time that all was lost. What begins after a loss is not complete.
  VersionStore(HashRing ring, std::uint32_t self, std::uint32_t replicas, std::uint32_t life = 0,
               StoreLimits limits = {});

  std::uint32_t self() const { return self_; }
  std::uint32_t replicas() const { return replicas_; }
  const HashRing& ring() const { return ring_; }
  std::vector<std::uint32_t> homes(Key key) const { return ring_.preference(place(key), replicas_); }
  bool is_home(Key key) const;
  // Whether it has all that it has ever acknowledged, in this life or before.
  bool complete() const { return complete_; }
  void set_complete() {
    if (!std::exchange(complete_, true) && journal_ != nullptr) journal_->note_complete();
  }
  std::uint32_t life() const { return life_; }
  // Outlives the store, or is taken from it by null. What is there already it is not told.
  void set_journal(Journal* journal) { journal_ = journal; }

  // Null: nothing. Of a home.
  const Record* find(Key key) const;
  // A new version, put by somebody who has seen `context`; none where there is one of the same put.
  // Precondition: it is a home.
  Status put(Key key, const VectorClock& context, Bytes value, PutName put = 0);
  // Whether there is room for all of that, whatever is here of it.
  bool takes(const Record& record) const { return record.bytes() <= limits_.bytes - bytes_; }
  // What another server has. Whether it was news; not where there is no room. Precondition: it is a home.
  bool merge(Key key, const Record& record);

  // False when there is no room for more hints.
  bool keep_hint(std::uint32_t target, Key key, const Record& record);
  // It has been delivered, unless it has grown since, or was dropped before. Whether there was one.
  bool drop_hint(std::uint32_t target, Key key, std::uint64_t digest);
  // What is kept of a key for others; empty: nothing.
  Record hinted(Key key) const;
  using Hints = std::map<std::pair<std::uint32_t, Key>, Record>;
  const Hints& hints() const { return hints_; }

  // Over the keys of which both this server and `peer` are homes. Null: there can be none.
  const MerkleTree* tree(std::uint32_t peer) const;
  using Records = std::map<PlacedKey, Record>;
  const Records& records() const { return records_; }
  std::size_t bytes() const { return bytes_; }  // Of versions and hints; at most as the limits say.
  bool shares(Key key, std::uint32_t peer) const;

 private:
  void changed(Key key, std::uint64_t before, std::uint64_t after);

  HashRing ring_;
  std::uint32_t self_;
  std::uint32_t replicas_;
  std::uint32_t life_;
  bool complete_;
  StoreLimits limits_;
  std::size_t bytes_ = 0;
  Journal* journal_ = nullptr;
  Records records_;
  Hints hints_;
  std::map<std::uint32_t, MerkleTree> trees_;
};

}  // namespace thalweg::quorum
