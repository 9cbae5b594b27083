#include "topology/network/sharing.h"

#include "topology/network/fair_network.h"
#include "topology/network/fifo_network.h"

namespace thalweg {

std::unique_ptr<Network> make_network(const Topology& topology, Sharing sharing) {
  if (sharing == Sharing::kFair) return std::make_unique<FairNetwork>(topology);
  return std::make_unique<FifoNetwork>(topology);
}

}  // namespace thalweg
