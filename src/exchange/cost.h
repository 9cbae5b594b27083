// The time that an exchange takes by formula, for groups too large to simulate on the way to a decision.
#pragma once

#include "exchange/layout.h"

namespace thalweg {

// Seconds by the formula of the route's own file, with the latency and the share of a link's bandwidth that
// the route's transfers have on this topology when all of a round are under way at once. A half of an
// all-reduce takes half of its time. Routes that end in another operation's lane (all-to-all, point to point)
// are not told apart.
double predicted_seconds(const Topology& topology, const Demand& demand, const Layout& layout);

// How many messages all ranks send.
double predicted_messages(const Demand& demand, const Layout& layout);

}  // namespace thalweg
