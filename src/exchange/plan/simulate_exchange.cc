#include "exchange/plan/simulate_exchange.h"

#include <algorithm>
#include <memory>

#include "exchange/checked_payload.h"
#include "exchange/exchange.h"
#include "exchange/plan/simulated_group.h"
#include "topology/network/fifo_network.h"

namespace thalweg {
namespace {

using Exchanges = std::vector<std::unique_ptr<Exchange>>;

Exchanges phantoms(const Demand& demand, const Layout& layout, std::pmr::memory_resource* memory) {
  Call call;
  call.operation = demand.operation;
  call.arithmetic.element_bytes = Demand::kElementBytes;
  call.count = demand.operation == Operation::kBarrier ? 1 : demand.elements();
  // Parts of an all-to-all are equal, which spares telling each rank what it receives.
  if (demand.operation == Operation::kAllToAll)
    call.count = (call.count + layout.size() - 1) / layout.size() * layout.size();
  call.root = demand.root;
  call.peer = demand.peer;
  call.phantom = true;
  Exchanges exchanges;
  for (std::uint32_t rank = 0; rank < layout.size(); ++rank) {
    if (demand.operation == Operation::kNeighbours) call.neighbours = ring_neighbours(rank, layout.size());
    exchanges.push_back(std::make_unique<Exchange>(call, layout.plan, rank, layout.size(), 0, 0, 0, memory));
  }
  return exchanges;
}

Picoseconds picoseconds(double seconds) {
  constexpr double kMost = 1e19;
  return static_cast<Picoseconds>(std::min(1e12 * seconds, kMost));
}

void count(const Topology& topology, const Network& network, const Exchanges& exchanges,
           SimulatedExchange& result) {
  for (const auto& exchange : exchanges) {
    result.messages += exchange->messages_sent();
    result.rank_bytes_sent.push_back(exchange->bytes_sent());
    result.max_rank_bytes_sent = std::max(result.max_rank_bytes_sent, exchange->bytes_sent());
  }
  result.events = network.events();
  result.link_bytes = network.link_bytes();
  for (LinkIndex link = 0; link < topology.link_count(); ++link) {
    const double busy = static_cast<double>(result.link_bytes[link]) / topology.link(link).bytes_per_second;
    if (busy <= result.busiest_seconds) continue;
    result.busiest_seconds = busy;
    result.busiest_link = link;
  }
}

// The same plan with a vector that all ranks have memory for, in as many pieces.
Status check(const Topology& topology, const Demand& demand, Layout layout) {
  const std::uint64_t most = kCheckedBytesMax / Demand::kElementBytes / layout.size();
  const std::uint64_t count = std::min(demand.elements(), most);
  if (count < demand.elements() && layout.plan.piece_elements > 0) {
    const double share = static_cast<double>(count) / static_cast<double>(demand.elements());
    layout.plan.piece_elements =
        static_cast<std::uint64_t>(static_cast<double>(layout.plan.piece_elements) * share) + 1;
  }
  CheckedPayload payload(demand, layout, count);
  FifoNetwork network(topology);
  SimulatedGroup group(network, layout.endpoints);
  Exchanges exchanges;
  for (std::uint32_t rank = 0; rank < layout.size(); ++rank) {
    exchanges.push_back(std::make_unique<Exchange>(payload.call(rank), layout.plan, rank, layout.size()));
  }
  if (Status status = group.run(exchanges); !status.ok()) return status;
  if (payload.right()) return ok_status();
  return {Code::kRefused, exchanges[0]->name() + " on topology " + topology.name() + " gave a wrong result"};
}

}  // namespace

Result<SimulatedExchange> simulate_exchange(const Topology& topology, const Demand& demand,
                                            const Layout& layout, SimulateOptions options) {
  SimulatedExchange result;
  const std::unique_ptr<Network> network = make_network(topology, options.sharing);
  std::vector<Network::Transfer> transfers;
  if (options.record) network->record(&transfers);
  SimulatedGroup group(*network, layout.endpoints,
                       options.handling == Handling{} ? nullptr : &options.handling);
  std::pmr::unsynchronized_pool_resource own;
  const Exchanges exchanges = phantoms(demand, layout, options.memory ? options.memory : &own);
  std::vector<Picoseconds> finished;
  const auto done = group.run_until(picoseconds(options.give_up_after), exchanges, &finished);
  if (!done.ok()) return done.status();
  if (!*done) {
    result.seconds = options.give_up_after;
    result.given_up = true;
    result.events = network->events();
    for (const auto& exchange : exchanges) result.messages += exchange->messages_sent();
    return result;
  }
  result.seconds = seconds(*std::max_element(finished.begin(), finished.end()));
  count(topology, *network, exchanges, result);
  for (const Network::Transfer& transfer : transfers) {
    const auto ends = group.ends(transfer.flow);
    result.passages.push_back(
        {transfer.link, ends.from, ends.to, transfer.bytes, seconds(transfer.begin), seconds(transfer.end)});
  }
  if (!options.check || layout.size() > kCheckedRanksMax) return result;
  if (Status status = check(topology, demand, layout); !status.ok()) return status;
  result.checked = true;
  return result;
}

}  // namespace thalweg
