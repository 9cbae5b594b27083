// How operations of a group go on and end by what its ranks know of each other.
#pragma once

#include <string>

#include "base/instant.h"
#include "client/group/group_view.h"
#include "exchange/exchange.h"
#include "thalweg/status.h"

namespace thalweg {

// Takes the exchange as far as it goes; true when it has ended, well or not. `any_lost`: see LiveFabric.
bool advance_or_fail(Exchange& exchange, GroupView& view, bool any_lost);
// What a rank waits in, for those who wait for it. `started`: it matches none that is merely called.
std::string what_waits(const Exchange& exchange, bool started);
// Its time is up: it ends, with whoever is to blame.
void fail_late(Exchange& exchange, GroupView& view, Duration timeout, bool started);
// How an operation that is over ended; `channel`: its first.
Status outcome(const Exchange& exchange, GroupView& view, std::uint16_t channel);

}  // namespace thalweg
