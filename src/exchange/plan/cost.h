// The time that an exchange takes by formula, for groups too large to simulate on the way to a decision.
#pragma once

#include "exchange/plan/layout.h"

namespace thalweg {

// What ranks' cores do for messages besides moving their bytes. Nothing, where the network alone counts.
struct Handling {
  bool operator==(const Handling&) const = default;
  double message_seconds = 0;       // At either end of a message between ranks two links apart.
  double far_message_seconds = 0;   // The same of ranks further apart.
  double add_seconds_per_byte = 0;  // Of one vector that is added to another.
  // Of a block that is sent after more than a cache holds has gone by since it was last touched.
  double fetch_seconds_per_byte = 0;
  double cache_bytes = 0;
};

// Seconds by the formula of the route's own file, with the latency and the share of a link's bandwidth that
// the route's transfers have on this topology when all of a round are under way at once, and with what cores
// do: they have the first and last links of a way busy with messages, and add when bytes have come. A half of
// an all-reduce takes half of its time. Routes that end in another operation's lane (all-to-all, point to
// point) are not told apart.
double predicted_seconds(const Topology& topology, const Demand& demand, const Layout& layout,
                         const Handling& handling = {});

// How many messages all ranks send.
double predicted_messages(const Demand& demand, const Layout& layout);

// Of a block that a cache of so many bytes does not hold: all; else 0.
double bytes_beyond(double cache_bytes, double block);

}  // namespace thalweg
