// The answers that a server gave to each shard's last steps, so that the shard's heir computes on the very
// rows that its predecessor saw. In one of these steps every pull of a shard shows a key's row the same.
#pragma once

#include <span>
#include <vector>

#include "base/frame.h"
#include "base/range_set.h"
#include "server/range_state.h"

namespace thalweg {

class ReplyBook {
 public:
  // Keeps the answers to as many steps of each shard; with 0 it knows and wants nothing. Where no heir ever
  // comes it only counts them.
  ReplyBook(std::uint32_t shards, std::size_t steps, bool heirs_come)
      : steps_(steps), keeps_rows_(heirs_come), replies_(shards) {}

  // The rows that were the answer to the same pull; null when there was none.
  const Bytes* find(const Frame& pull) const;
  // kRefused: the shard has asked for too many different things in this step.
  Status remember(const Frame& pull, const Bytes& rows);
  // Puts the rows that the shard was given in this step in the place of those in `rows`, which has one for
  // each key of `pull`.
  void restore(const TableSpec& spec, const Frame& pull, std::span<float> rows) const;
  std::size_t size() const;
  std::uint64_t bytes() const;  // Of the keys and rows kept.

  // What there is of one range, by shard.
  std::vector<Replies> of(const TableSpec& spec, RangeId range) const;
  void remove(const TableSpec& spec, const RangeSet& ranges);
  void adopt(std::vector<Replies> replies);

 private:
  void keep_newest(Replies& replies) const;

  std::size_t steps_;
  bool keeps_rows_;
  std::vector<Replies> replies_;  // By shard; the newest steps that pulled.
};

}  // namespace thalweg
