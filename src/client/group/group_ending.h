// How operations of a group go on and end by what its ranks know of each other.
#pragma once

#include "base/instant.h"
#include "client/group/group_view.h"
#include "exchange/exchange.h"
#include "thalweg/status.h"

namespace thalweg {

// Takes the exchange as far as it goes; true when it has ended, well or not. `any_lost`: see LiveFabric.
bool advance_or_fail(Exchange& exchange, GroupView& view, bool any_lost);
// Its time is up: it ends, with whoever is to blame.
void fail_late(Exchange& exchange, GroupView& view, Duration timeout);
// How an operation that is over ended; `channel`: its first.
Status outcome(const Exchange& exchange, GroupView& view, std::uint16_t channel);

}  // namespace thalweg
