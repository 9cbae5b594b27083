// How messages share the links of a network in virtual time.
#pragma once

#include <cstdint>
#include <memory>

#include "topology/network/network.h"

namespace thalweg {

enum class Sharing : std::uint8_t {
  kFifo,  // First come, first served: fifo_network.h.
  kFair,  // Evenly, all at once: fair_network.h.
};
std::unique_ptr<Network> make_network(const Topology& topology, Sharing sharing);

}  // namespace thalweg
