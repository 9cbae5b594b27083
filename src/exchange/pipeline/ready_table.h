// Which ranks have announced which gradients: what the coordinator of an exchange knows.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "exchange/pipeline/bucket_layout.h"
#include "thalweg/status.h"

namespace thalweg {

class ReadyTable {
 public:
  ReadyTable(std::uint32_t positions, std::uint32_t ranks);

  // Adds to `complete` the positions that every rank has announced now; they begin anew. kRefused when the
  // rank announces what does not exist, or what it has announced before.
  Status announce(std::uint32_t rank, PositionRun run, Instant now, std::vector<std::uint32_t>& complete);

  // The position that has waited longest for ranks, and since when; none: kNever.
  struct Oldest {
    std::uint32_t position = 0;
    Instant since = kNever;
  };
  Oldest oldest();
  // "announced by ranks 0, 2, not by ranks 1, 3 and 5 others"
  std::string who(std::uint32_t position) const;

 private:
  bool announced(std::uint32_t rank, std::uint32_t position) const {
    return ((bits_[std::size_t{position} * words_ + rank / 64] >> (rank % 64)) & 1) != 0;
  }

  std::uint32_t ranks_;
  std::size_t words_;                  // Of 64 ranks, a position.
  std::vector<std::uint64_t> bits_;    // By position.
  std::vector<std::uint32_t> counts_;  // By position: ranks that have announced it.
  std::vector<Instant> since_;         // By position: its first announcement; kNever: none.
  std::deque<Oldest> waiting_;         // In order of time; may hold some that have become complete.
};

}  // namespace thalweg
