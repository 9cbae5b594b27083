// Who owns the key ranges of a table: data that the scheduler's map carries and may change, not a formula.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/range_set.h"

namespace thalweg {

// Neighbouring ranges of one owner. The first server of the chain is the owner: pushes and pulls go to it.
struct PlacedRun {
  RangeSpan ranges;
  std::vector<std::uint32_t> chain;  // Server indices, each once.
  // The last of the chain has yet to get what the others have, and counts for none of them. The attempt's
  // number is the epoch of the map that began it; 0: there is none.
  std::uint32_t joining = 0;
  // By server of the chain: the attempt by which it has come behind the others. Who has been there from the
  // begin is not in it.
  std::map<std::uint32_t, std::uint32_t> joined = {};
  std::span<const std::uint32_t> in_sync() const {
    return std::span(chain).first(chain.size() - (joining != 0 ? 1 : 0));
  }
  bool operator==(const PlacedRun&) const = default;
};

class Placement {
 public:
  Placement() = default;  // Of no range.
  // How a job begins: contiguous, even intervals, so that ascending keys go to ascending servers. A server
  // may get none. Chains are of `replicas` servers, or of all; those of one owner's ranges are spread over
  // the others, so that what a server has to do goes to all of them when it is lost.
  static Placement even(std::uint16_t ranges, std::uint32_t servers, std::uint32_t replicas = 1);
  // Empty unless the runs are a placement of `ranges` ranges on `servers` servers: ascending, without gaps,
  // chains of 1 to limits::kChainMax different servers, and no two neighbours with the same chain.
  static std::optional<Placement> of(std::vector<PlacedRun> runs, std::uint16_t ranges,
                                     std::uint32_t servers);

  const std::vector<PlacedRun>& runs() const { return runs_; }
  // Precondition: the table has the range.
  std::uint32_t owner(RangeId range) const { return run_of(range).chain.front(); }
  // Who owns all of these ranges, of which there is one at least; empty when nobody does.
  std::optional<std::uint32_t> owner(RangeSpan ranges) const;
  RangeSet owned_by(std::uint32_t server) const;
  // The ranges whose chains have the server behind their owner, and in sync.
  RangeSet copied_by(std::uint32_t server) const;
  // The runs in which the server is the joiner.
  std::vector<PlacedRun> joined_by(std::uint32_t server) const;
  // The runs whose joiner follows the server.
  std::vector<PlacedRun> joiners_of(std::uint32_t server) const;
  // Runs whose owner the server is, and whose chains go on.
  std::vector<RangeSpan> copied_of(std::uint32_t server) const;
  // Who comes before, and after, a server in the chain of these ranges; empty when nobody does, it is in
  // none, or they have several.
  std::optional<std::uint32_t> before(RangeSpan ranges, std::uint32_t server) const;
  std::optional<std::uint32_t> after(RangeSpan ranges, std::uint32_t server) const;
  // The attempt by which a server came to the chain of a range; 0: it has been there from the begin, or is
  // not.
  std::uint32_t joined_as(RangeId range, std::uint32_t server) const;
  // Whether some chain has the server, be it as a joiner.
  bool places(std::uint32_t server) const;
  // The ranges of which the server has the only copy.
  RangeSet only_on(std::uint32_t server) const;
  // Takes it out of all chains. Whoever joins one of them begins anew, as attempt `joining`. Precondition:
  // only_on(server) is empty.
  void remove(std::uint32_t server, std::uint32_t joining = 0);
  // Gives the ranges, of one chain, to another one, in which whoever stays is the same as before.
  // Precondition: the table has them, and there is one at least.
  void move(RangeSpan ranges, std::vector<std::uint32_t> chain, std::uint32_t joining = 0);
  // The joiner of this attempt is in sync in these ranges. Those that were its, others are left as they are.
  RangeSet end_join(RangeSpan ranges, std::uint32_t server, std::uint32_t joining);
  // The same, of which servers[i] has what server i had. Precondition: they are different, one for each.
  Placement renamed(std::span<const std::uint32_t> servers) const;
  bool operator==(const Placement&) const = default;

  // Precondition: the table has the range.
  const PlacedRun& run_of(RangeId range) const;

 private:
  const std::vector<std::uint32_t>* chain_of(RangeSpan ranges) const;

  std::vector<PlacedRun> runs_;  // Ascending; they cover each range once.
};

// The parts of a table each of which has one chain at any time where servers keep copies, whatever becomes of
// that: those of the chains that a job begins with on so many servers, in kUnitsLeast pieces at least, so
// that there is something to give to servers that come later.
inline constexpr std::uint32_t kUnitsLeast = 12;
std::vector<RangeSpan> chain_units(std::uint16_t ranges, std::uint32_t servers);

// Each table's, in their order.
std::vector<Placement> first_placement(std::span<const TableSpec> tables, std::uint32_t servers,
                                       std::uint32_t replicas = 1);
// The same on servers of these indices, ascending.
std::vector<Placement> first_placement(std::span<const TableSpec> tables,
                                       std::span<const std::uint32_t> servers, std::uint32_t replicas);

// Which worker a data shard starts with.
constexpr std::uint32_t shard_worker(ShardId shard, std::uint32_t workers) { return shard.value % workers; }

// The same where workers combine their pushes: neighbouring shards to one worker, and to neighbours.
constexpr std::uint32_t neighbours_worker(ShardId shard, std::uint32_t shards, std::uint32_t workers) {
  return static_cast<std::uint32_t>(std::uint64_t{shard.value} * workers / shards);
}

}  // namespace thalweg
