// Protocol bugs that are planted on purpose, to show that the simulator finds them. THALWEG_BUG(name) is the
// constant false in the product; only the separate `planted` test program is built with THALWEG_PLANTED_BUGS.
#pragma once

#ifdef THALWEG_PLANTED_BUGS
namespace thalweg {
enum class Bug {
  kNone,
  kNoDedup,           // Repeated pushes are applied again.
  kWindowForgotten,   // Repeats above the low mark are applied again.
  kGateOffByOne,      // The staleness gate lets one step too many through.
  kGateTooStrict,     // The gate holds back one step too early.
  kArrivalOrder,      // Sync mode reduces in arrival order.
  kEarlyClose,        // Sync mode closes a step with one shard missing.
  kNoFence,           // A former owner's pushes and pulls are accepted.
  kNoRetry,           // A lost request is never sent again.
  kHeirSkipsAhead,    // The heir of a shard starts at the largest mark instead of the smallest.
  kNoReplayCache,     // The heir recomputes on rows that have moved on.
  kNoChecksum,        // Damaged frames are accepted.
  kPartialRepeat,     // A push that is partly a repeat is acknowledged and dropped.
  kStaleMapAccepted,  // Frames of an old map are accepted, and none is told so.
  kEndForgotten,      // A shard's end of epoch is not remembered.
  kBarrierEarly,      // A barrier opens with one shard missing.
  kAckBeforeCheck,    // A push is acknowledged although it was refused as too early.
  kReportTwice,       // A repeated report reaches the application again.
  kOwnWritesMissed,   // A shard may read before its own pushes have arrived.
  kEpochsMixed,       // A shard may read in the next epoch while others are in the last.
  kEndSaidOnce,       // That a task has ended is told once, and may be lost.
  kHeirEndsEarly,     // An heir that is asked to stop ends its epoch before steps that servers have.
  kLeadAcksEarly,     // A combiner acknowledges a push before a server did.
  kBlockAddedTwice,   // A block is added to what had come of its shards singly.
  kBlockMarksFirst,   // A block counts as arrived for its first shard alone.
  kCombineInARow,     // A combiner adds up from left to right.
  kPullForgotten,     // Of one worker's waiting pulls a server keeps the last.
  kStalenessUnsaid,   // A server does not say how far ahead its answers were.
  kNoWindow,          // A shard goes on whatever is unanswered.
  kAddressMatters,    // What happens depends on where something lies in memory.
  kHeirTooFarBehind,  // Sync mode: more steps are unanswered than servers remember answers of.
};
inline Bug planted = Bug::kNone;
}  // namespace thalweg
#define THALWEG_BUG(name) (::thalweg::planted == ::thalweg::Bug::name)
#else
#define THALWEG_BUG(name) false
#endif
