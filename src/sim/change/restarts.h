// A job of any mode that keeps checkpoints and dies as a whole, again and again: each life goes on from the
// newest checkpoint, with other numbers of servers, copies and workers. What it adds up are whole numbers,
// and a ledger has one entry for each step of each data shard, so that a push that is lost or counts twice
// shows.
#pragma once

#include "sim/change/restarts_plan.h"
#include "sim/report.h"

namespace thalweg::sim {

// Precondition: the plan has lives, of which the last runs to its end.
Report run_restarts(const RestartsPlan& plan, Trace trace = nullptr);

}  // namespace thalweg::sim
