// Ranks of a group on a network in virtual time: the fabric that the production exchange runs over in
// simulations and predictions.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/plan/flow_table.h"
#include "exchange/plan/rank_processors.h"
#include "node/fabric.h"
#include "topology/network/network.h"

namespace thalweg {

class SimulatedFabric;

// A link takes messages whole. It holds a window of bytes that have not been read: two messages, 128 KiB, or
// twice what fills its path, whichever is most. Its sender learns of room at once.
class SimulatedGroup {
 public:
  static constexpr std::uint64_t kWindowBytes = std::uint64_t{128} << 10;

  // `endpoints`: of the topology, by rank. `handling`: what ranks' processors take for messages and sums;
  // null: no time. The network outlives the group.
  SimulatedGroup(Network& network, std::span<const std::uint32_t> endpoints,
                 const Handling* handling = nullptr);
  ~SimulatedGroup();

  // Runs one exchange a rank, `exchanges[r]` being rank r's, until all are done. kRefused names the first
  // that is not when nothing is under way any more, or gives the first error of a rank. `finished`, unless
  // null: when each rank was done.
  Status run(std::span<const std::unique_ptr<Exchange>> exchanges,
             std::vector<Picoseconds>* finished = nullptr);
  // The same, and gives up at `deadline`: false.
  Result<bool> run_until(Picoseconds deadline, std::span<const std::unique_ptr<Exchange>> exchanges,
                         std::vector<Picoseconds>* finished = nullptr);
  // For drivers of their own: goes on to the next moment at which a rank's links have changed, or its alarm
  // goes, and says which rank's; false when nothing is under way.
  bool next(std::uint32_t& rank);
  // The same, and on which channel something has come, if that is all: kAnyChannel where not.
  static constexpr std::uint32_t kAnyChannel = ~std::uint32_t{0};
  bool next(std::uint32_t& rank, std::uint32_t& channel);
  void alarm(std::uint32_t rank, Picoseconds when) { network_.alarm(flow(rank, rank, 0), when); }
  Fabric& fabric(std::uint32_t rank);
  // When the rank's processor has done all that it was given so far.
  Picoseconds processor_free(std::uint32_t rank) const { return processors_ ? processors_->free(rank) : 0; }
  // The ranks at both ends of a flow of the network.
  struct Ends {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  Ends ends(Network::Flow flow) const { return ends_[flow]; }

 private:
  friend SimulatedFabric;
  struct Inbox {
    std::uint64_t ready = 0;               // Bytes that have arrived and have not been read.
    std::uint64_t unread = 0;              // And those that are still on their way.
    std::uint64_t wakes_at = kNeverWakes;  // The sender, when so few are unread.
    std::uint32_t window = 0;
    std::uint32_t rank = 0;
    std::uint16_t channel = 0;
  };
  static constexpr std::uint64_t kNeverWakes = ~std::uint64_t{0};
  struct Stream {  // Real bytes, sent and not yet read.
    std::vector<std::byte> bytes;
    std::size_t begin = 0;
    bool used = false;
  };
  // Null of a link whose bytes are phantom.
  Stream* stream(Network::Flow flow) {
    return flow < streams_.size() && streams_[flow].used ? &streams_[flow] : nullptr;
  }
  Network::Flow flow(std::uint32_t from, std::uint32_t to, std::uint16_t channel);
  void depart(std::uint32_t rank, Network::Flow flow, std::uint64_t bytes);
  void fetch_ahead(std::span<const std::unique_ptr<Exchange>> exchanges) const;

  Network& network_;
  std::vector<std::uint32_t> endpoints_;
  std::optional<RankProcessors> processors_;
  std::vector<Inbox> inboxes_;   // By flow.
  std::vector<Ends> ends_;       // By flow.
  std::vector<Stream> streams_;  // By flow, as far as any has real bytes.
  FlowTable flows_;
  std::vector<SimulatedFabric> fabrics_;
  std::deque<std::uint32_t> woken_;  // Ranks that have room again.
};

}  // namespace thalweg
