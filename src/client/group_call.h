// What a caller asks of a group, checked and put as the exchange takes it.
#pragma once

#include <cstdint>

#include "exchange/exchange.h"
#include "thalweg/group.h"

namespace thalweg {

// Into `made`, which is fresh. Errors: kUsage.
Status make_call(const GroupCall& asked, std::uint32_t rank, std::uint32_t ranks, Call& made);
// OK, or which buffer of a made call is missing. `serves`: the plan makes this rank a server, which passes
// none.
Status check_buffers(const GroupCall& asked, const Call& made, std::uint32_t rank, bool serves);

}  // namespace thalweg
