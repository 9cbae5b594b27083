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
  kBegunUnobserved,   // A job begins without its observer, who was silent for a while.
  kOwnPauseBlamed,    // A scheduler that was stopped itself blames those whom it did not hear.
  kDeadServerUnsaid,  // A server's death is noticed by nobody.
  kWrongRangesNamed,  // The error for a lost server names its neighbour's key ranges.
  kDeadComeBack,      // Before the job begins a word that a dead node had sent brings it back.
  kOthersBuried,      // When a node is told to be dead, all others are taken for lost.
  kEarlyDeathEnds,    // A node that is lost before the job begins ends it.
  kSeatKept,          // The place of a server that is lost before the job begins is free for nobody.
  kErrorKept,  // A lost server's error reaches the scheduler's own log alone: nodes are told that all is
               // well.
  kSchedulerTrusted,   // Nobody gives up a scheduler that answers nothing.
  kClockFromZero,      // Deadlines are moments of a clock that everybody is taken to share.
  kScanStopsShort,     // A scan leaves out a range's last row.
  kRowUpdatedTwice,    // A sparse table that makes room for new keys updates their batch once more.
  kStateLost,          // Optimizer state does not move with a row when its block grows.
  kSumsInARow,         // Contributions are summed from left to right.
  kRingStepLost,       // Reduce-scatter over a ring leaves out its last step.
  kRingOwnersShifted,  // Reduce-scatter over a ring leaves each block with its owner's neighbour.
  kSumOrderMatters,    // Reproducible sums add up floats.
  kHeaderUnread,       // A header's checksum is taken for right, and so its lengths.
  kChecksumUnread,     // A stream's reader takes every payload's checksum for right.
  kTailLost,           // Of two queues that become one the last frame is lost.
  kRestFollows,        // A new connection goes on in the middle of the frame that broke off with the old one.
  kMarksLeftBehind,    // A range's new owner does not learn which pushes have arrived.
  kOpenStepsLeftBehind,  // Nor what has come for steps that are not whole.
  kRepliesLeftBehind,    // Nor what it answered in steps that may come again.
  kOldOwnerAnswers,      // A range's former owner goes on to serve those who have an older map.
  kRepeatCounted,        // A stream counts a message's bytes again each time it comes.
  kSilenceExcused,       // A rank that does not say what it is doing is not to blame.
  kGoodbyeForgotten,     // A rank that said goodbye is lost when its connection ends.
  kSendersUntold,        // An operation in which a rank only sends ends well, whatever is known.
  kLateAwaited,          // A group that forms anew waits for ranks that do not come.
  kDeadLeaderCalled,     // A rank goes on calling a leader that it knows to be lost.
  kGuestsByArrival,      // Ranks of a group that forms anew are numbered as they came.
  kGuiltyExpected,       // A group that forms anew waits for the rank that was given up.
  kLoadedLate,           // A range that has been pushed to takes rows to begin with.
  kLoadAwaitedByNone,    // Shards begin before the rows are there that the job begins with.
  kLookAwaitedByNone,    // Shards go on while the observer looks at what a pass has left.
  kImagesForgotten,      // A copy that takes over shows an heir rows that have moved on.
  kAckUncommitted,       // A push is acknowledged before the copies have it.
  kEntryTwice,           // A copy applies what its owner sends it again.
  kJoinedUnseen,         // A server says that it has copies before it has been sent any.
  kMarksUncopied,        // Whoever joins a chain does not learn which pushes have arrived.
  kHeldCounted,          // It is told that such have as no copy has yet.
  kCopiedAhead,          // It is told changes of rows that have yet to be sent, which have them.
  kJoinerNotAwaited,     // What a joiner is sent is not awaited, though it may count as a copy from now on.
  kOpenStepsUncopied,    // It is sent a range while that lacks what was acknowledged of open steps.
  kLeavesEarly,          // A server that is to leave goes as soon as any other has its ranges.
  kTrimmedEarly,         // Others leave a chain before who comes behind them has what they have.
  kFormerOwnerFails,     // A worker that lives fails where it has yet to learn that a shard was given away.
  kFormerOwnerHeard,     // Entries of a server that has left a chain are taken.
  kTriesApart,           // Each try of a put is a put of its own.
  kDotsForgotten,        // A version is taken for seen where a later one of its coordinator is.
  kHintKept,             // A hint is not dropped when it has been delivered.
  kReadsBeforeRestored,  // A server that has lost its disk answers gets before it has all again.
  kHintsCounted,         // What a stand-in has counts as if a home had it.
  kOneTooFew,            // Gets and puts are answered by one server less than they need.
  kNeverCompared,        // Servers do not compare what they have.
  kCutRowsLate,          // A checkpoint's rows hold pushes that have come since its marks were taken.
  kCutRowsChanged,       // A row that changes while a checkpoint's rows are stored is stored as it is then.
  kTouchMissed,          // Of the rows that a push changes, the last is not told to the next checkpoint.
  kFailedCutCounted,     // What had changed before a checkpoint that came to nothing is in no later one.
  kCutMarksLate,         // They lack pushes that its marks count, which have come since.
  kResumedAhead,         // A shard goes on with the latest step that any range of a checkpoint has.
  kStateUncopied,        // Copies do not learn which pushes are in the checkpoint that a range begins with.
  kEarlierOwnersForgotten,  // A server whose first map is not the job's keeps no images of what it changes.
  kLoadTakesBack,           // Rows to begin with that come again take the place of what was pushed since.
  kBarrierByOldMap,         // A shard passes a barrier by a map that is older than the one it was opened by.
  kStateUnsynced,           // A scheduler's state is told before the disk has it for good.
  kAnnouncedUnkept,         // The scheduler says what its state does not have yet.
  kTermUnguarded,           // A scheduler writes its state whoever leads by now.
  kWritesUnchained,         // A write whose answer was lost counts after later ones, too.
  kForgottenAwaited,        // A standby goes on from a revision that the store has forgotten.
  kLeaseEndIgnored,         // A scheduler that leads goes on as it was when its lease has ended.
  kDoubtUnsaid,             // It does not tell nodes that another one may lead.
  kOlderStateTaken,         // A job is taken up by a state that is older than what nodes were told.
  kGoneBackWritten,         // A scheduler goes on to write a state that has gone back.
  kBarriersUnkept,          // Its state forgets which barriers have opened.
  kLeftOutUnsaid,           // A rank is not told that the group formed anew without it.
};
inline Bug planted = Bug::kNone;
}  // namespace thalweg
#define THALWEG_BUG(name) (::thalweg::planted == ::thalweg::Bug::name)
#else
#define THALWEG_BUG(name) false
#endif
